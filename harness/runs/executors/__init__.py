"""Executors of a run's episodes: threads of this process, and processes of this machine."""

__all__ = ["base", "processes", "sites"]
