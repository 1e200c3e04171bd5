"""Validator of the hidden-profile family: votes, shared facts, heard facts and reward from an event log."""

from validators.hidden_profile.verdict import assess

__all__ = ["assess"]
