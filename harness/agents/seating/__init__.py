"""Who holds the seats of a game: one loop over one player a seat, whatever kind of player that is."""

__all__ = ["agent", "chat", "game", "holders", "lineup", "model", "players", "policy", "replayed", "talk", "teams", "variants"]
