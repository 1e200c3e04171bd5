"""Agents that play episodes: models, shipped solutions, scripts, recordings, people, and one that does nothing."""

__all__ = ["doctor", "handles", "llm", "path", "people", "scripted", "seating", "solutions", "trajectory", "turns"]
