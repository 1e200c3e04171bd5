"""The calendar family in the harness: seats, reports."""
