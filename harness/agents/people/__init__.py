"""People who play at a terminal: how they are shown things, how they type, and what their commands mean."""

__all__ = ["agent", "desk", "sitting"]
