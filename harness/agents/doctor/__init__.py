"""Examination of a model server by real calls: what works, and the flags with which a run works."""

__all__ = ["checks"]
