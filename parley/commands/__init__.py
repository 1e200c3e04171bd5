"""Commands of `harness` that need more than the harness itself, one module each, imported when the command is used."""
