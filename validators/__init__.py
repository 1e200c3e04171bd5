"""From an event log to a verdict: typed episodes, the rules of each family, a pytest plugin."""

__all__ = ["episode", "verdict"]
