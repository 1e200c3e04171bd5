"""Runtimes of episodes: Docker, bubblewrap, or the current process."""
