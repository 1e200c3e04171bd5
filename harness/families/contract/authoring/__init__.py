"""What `harness verify` asks of contract tasks besides what it asks of every task."""
