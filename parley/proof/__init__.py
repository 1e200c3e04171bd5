"""Creating and proving tasks: templates, `new`, `sync`, lint, and the proof that verdicts can be both positive and negative."""

__all__ = ["apart", "findings", "leaks", "mutants", "new", "paces", "plays", "proof", "sync", "templates"]
