"""Checks of `harness verify` for contract tasks, in addition to those for every task."""
