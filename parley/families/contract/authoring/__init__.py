"""Checks by `harness verify` of contract tasks besides those of every task."""
