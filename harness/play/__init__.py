"""Playing one episode: an agent made from its spec, a runtime chosen, and everything that happens as one record."""

__all__ = ["agents", "choose", "episode", "options", "outcome", "playing"]
