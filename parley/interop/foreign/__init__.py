"""Foreign Harbor tasks (no [metadata.parley]) under Docker: requirements of the folder, networks, pod and verdict."""
