"""Creating and proving tasks: templates, `new`, `sync`, lint, and the proof that verdicts can be both positive and negative."""

__all__ = [
    "apart",
    "curve",
    "evidence",
    "findings",
    "leaks",
    "mutants",
    "new",
    "paces",
    "plays",
    "proof",
    "report",
    "routes",
    "scenario_folders",
    "sync",
    "templates",
]
