"""Many episodes as one run: what was asked for, the frozen plan, and who plays it."""

__all__ = [
    "addresses",
    "coaching",
    "deciding",
    "edition",
    "executors",
    "plan",
    "request",
    "run",
    "session",
    "templates",
]
