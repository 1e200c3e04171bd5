"""The part every world shares: clock, chance, events, the raw wire, the app that referees requests."""

__all__ = [
    "calls",
    "chance",
    "depends",
    "errors",
    "events",
    "levels",
    "loading",
    "manifest",
    "models",
    "parts",
    "referee",
    "replies",
    "routes",
    "seated",
    "served",
    "testing",
    "texts",
    "turns",
    "wire",
    "world",
]
