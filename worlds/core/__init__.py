"""The part every world shares: clock, chance, events, the raw wire, the app that referees requests."""
