"""Tools for writing tasks: templates, `new`, `sync`, lint, and the checks of `harness verify`."""
