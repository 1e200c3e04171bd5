"""Whatever plays an episode: a model, a shipped solution, a script, or nothing at all."""
