"""Games for groups of people, played in web pages that this host serves."""

__all__ = ["group", "server"]
