"""Players at a terminal: output, input and commands."""

__all__ = ["agent", "desk"]
