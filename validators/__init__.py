"""Validators, which turn an event log into a verdict: typed episodes, the rules of each family, a pytest plugin."""
