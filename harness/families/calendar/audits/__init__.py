"""Audits of recorded calendar games: what was said in them, and what that gave away."""
