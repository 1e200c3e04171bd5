"""Validator of the calendar family: costs, privacy loss, failure reasons and reward from an event log."""

from validators.calendar.verdict import assess

__all__ = ["assess"]
