"""Solvers of calendar games: read `problem`, `programme`, `counting`, then `certificate`, which uses them all.

Two independent solvers answer the same questions, a dynamic programme (`programme`) and CP-SAT (`cpsat`); tests enumerate too.
"""
