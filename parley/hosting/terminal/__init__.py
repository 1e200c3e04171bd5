"""Players at a terminal: output, input and commands."""
