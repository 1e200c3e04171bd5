"""`harness verify --mutants`: small changes to servers, hidden tests and shared rules, each of which the proof must notice."""

__all__ = ["report", "run"]
