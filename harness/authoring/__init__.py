"""Making tasks and proving them: templates, `new`, `sync`, lint, and the proof that every verdict can say both yes and no."""
