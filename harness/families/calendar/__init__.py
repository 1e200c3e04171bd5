"""The calendar family on the host: seats, reports."""
