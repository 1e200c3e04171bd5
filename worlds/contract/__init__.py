"""The family of contract tasks: each artifact must be used within its validity window and with unchanged bytes."""
