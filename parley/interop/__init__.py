"""Interoperability with other programs: exports for their viewers, and an agent that their runners can start."""
