"""Reports from run folders: reading, statistics and rendering of tables, whose contents are defined by each family."""
