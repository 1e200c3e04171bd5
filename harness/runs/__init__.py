"""Many episodes as one run: what was asked for, the frozen plan, and who plays it."""

__all__ = [
    "addresses", "choice", "coaching", "deciding", "edition", "executors", "forecast", "growth", "ledger", "plan", "request",
    "run", "session", "stints", "stream", "templates",
]  # fmt: skip
