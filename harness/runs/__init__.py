"""Runs of many episodes: the request, the frozen plan, and its execution."""

__all__ = [
    "addresses", "choice", "cluster", "coaching", "deciding", "edition", "executors", "forecast", "growth", "ledger", "merging",
    "plan", "request", "run", "session", "shards", "stream", "templates", "until",
]  # fmt: skip
