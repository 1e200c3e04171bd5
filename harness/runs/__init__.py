"""Many episodes as one run: what was asked for, the frozen plan, and who plays it."""

__all__ = [
    "addresses", "choice", "cluster", "coaching", "deciding", "edition", "executors", "forecast", "growth", "ledger", "merging",
    "plan", "request", "run", "session", "shards", "stints", "stream", "templates", "until",
]  # fmt: skip
