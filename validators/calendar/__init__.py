"""The calendar family's validator: from an event log to costs, privacy loss, failure reasons and the reward."""

from validators.calendar.verdict import assess

__all__ = ["assess"]
