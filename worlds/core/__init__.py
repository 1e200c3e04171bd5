"""Code that every world shares: clock, chance, event log, wire format, and the app that referees requests."""
