"""Seats of games and their players: one game loop for policies, models, people and recordings."""
