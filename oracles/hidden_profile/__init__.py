"""Proofs about hidden profiles: read `decks`, `dealing`, then `certificate`, which asks them all.

Two witnesses answer the same questions: the table of worlds (`decks.Tabulated`) and a solver (`second.FrameSolver`). `groups`
has the scripted seats, `session` what they must score; `guessers` those who only look at words; `dealing` proposes shapes.
"""
