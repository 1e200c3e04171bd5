"""Names of seats: the number that the prompts give a seat, which all tables and transcripts use."""

from __future__ import annotations


def called(seat: int) -> int:
    """Return the number of the person at a seat; seats count from 0, people from 1."""
    return seat + 1


def seat_name(seat: int) -> str:
    """Return the person with the seat number of flags and of the log."""
    return f"Person {called(seat)} (seat {seat})"
