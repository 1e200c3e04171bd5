"""Runtime `bubblewrap`: pods of sandboxes for hosts without a container engine."""
