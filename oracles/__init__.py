"""Optimal results and their proofs: pure policies and solvers, one package per family."""
