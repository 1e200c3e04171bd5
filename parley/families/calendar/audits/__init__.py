"""Audits of recorded calendar games: the contents of messages, and the information that they leak."""
