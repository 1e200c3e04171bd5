"""Playing one episode: creating the agent from its spec, choosing a runtime, and recording the result."""

__all__ = ["agents", "choose", "episode", "options", "outcome", "playing"]
