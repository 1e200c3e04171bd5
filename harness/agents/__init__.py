"""Whatever plays an episode: a model, a shipped solution, a script, or nothing at all."""

__all__ = ["doctor", "handles", "llm", "path", "people", "scripted", "seating", "solutions", "trajectory", "turns"]
