"""Several runs that belong together: early stopping of a comparison, and shards of one plan."""
