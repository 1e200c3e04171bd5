"""The contract family's validator: from an event log to strict success, or the most severe broken rule."""

from validators.contract.verdict import assess

__all__ = ["assess"]
