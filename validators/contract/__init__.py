"""Validator of the contract family: strict success, or the most severe broken rule, from an event log."""

from validators.contract.verdict import assess

__all__ = ["assess"]
