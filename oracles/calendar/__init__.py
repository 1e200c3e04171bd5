"""Solvers of calendar games: read `problem`, `programme`, `counting`, then `certificate`, which asks them all.

Two witnesses answer the same questions, a dynamic programme (`programme`) and a solver (`cpsat`); tests enumerate besides.
"""
