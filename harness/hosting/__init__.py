"""Groups of people who play over a small web page of this host: who they are, what they see, and the one route they write to."""

__all__ = ["forms", "group", "pages", "places", "server", "watch"]
