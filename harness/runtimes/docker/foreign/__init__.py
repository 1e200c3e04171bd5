"""Foreign Harbor tasks (no [metadata.parley]) under Docker: what the folder asks, its networks, its pod, its verdict."""

__all__ = ["asked", "pod"]
