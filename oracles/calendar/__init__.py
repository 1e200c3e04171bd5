"""Solvers of calendar games: read `problem`, `states`, `programme`, `counting`, then `certificate`, which asks them all.

Three witnesses answer the same questions: a dynamic programme (`programme`), a solver (`cpsat`) and enumeration (`brute`).
"""
