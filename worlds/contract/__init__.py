"""Contracts over artifacts: use each one inside its window, byte for byte."""
