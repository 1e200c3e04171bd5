"""Reports from run folders: reading, statistics and rendering. Each family defines the contents of its own tables."""
