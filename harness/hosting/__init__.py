"""Groups of people who play over small web pages of this host: who they are, what they see, and the one route they write to."""

__all__ = ["forms", "group", "server", "watch"]
