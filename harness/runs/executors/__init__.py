"""Ways to play the episodes of a run: threads of this process, and processes of this machine."""

__all__ = ["base", "sites"]
