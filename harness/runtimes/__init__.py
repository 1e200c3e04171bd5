"""Runtimes of episodes: Docker, bubblewrap, or the current process."""

__all__ = ["bubblewrap", "docker", "inprocess", "judging"]
