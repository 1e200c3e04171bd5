"""Creation and checks of tasks: templates, `new`, `sync`, lint, and `harness verify`, whose checks form a task's proof."""
