"""The best that can be done, and the proof of it: pure policies and solvers, one package per family."""
