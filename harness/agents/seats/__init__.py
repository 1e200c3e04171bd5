"""Seats of games and their players: one game loop for policies, models, people and recordings."""

__all__ = ["agent", "chat", "game", "holders", "lineup", "model", "players", "replayed", "teams", "variants"]
