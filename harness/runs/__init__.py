"""Runs of many episodes: the request, the frozen plan, and its execution."""
