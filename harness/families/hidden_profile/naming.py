"""What people call a seat: the number that its prompts give it, which no table and no transcript departs from."""

from __future__ import annotations


def called(seat: int) -> int:
    """The number of the person at a seat; seats count from 0, people from 1."""
    return seat + 1


def seat_name(seat: int) -> str:
    """A person with the seat of flags and of the log."""
    return f"Person {called(seat)} (seat {seat})"
