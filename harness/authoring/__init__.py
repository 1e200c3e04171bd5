"""Making tasks and proving them: templates, `new`, `sync`, lint, and the proof that every verdict can say both yes and no."""

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
