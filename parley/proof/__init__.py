"""Creating and proving tasks: templates, `new`, `sync`, lint, and the proof that verdicts can be both positive and negative."""
