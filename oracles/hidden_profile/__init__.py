"""Proofs about hidden profiles: read `decks`, `dealing`, then `certificate`, which uses them all.

Two independent solvers answer the same questions: the table of worlds (`rules.worlds`) and a solver (`second.FrameSolver`).
`groups` has the scripted seats, `session` their expected scores; `guessers` use only words; `dealing` proposes shapes.
"""
