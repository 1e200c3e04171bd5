"""Agents that play episodes: models, shipped solutions, scripts, recordings, people, and one that does nothing."""
