"""Proofs about hidden profiles: read `logic`, `tells`, `decks`, `dealing`, then `deck_certificate`, which asks them all.

Two witnesses answer the same questions: the table of worlds (`logic.Tabulated`) and a solver (`second.FrameSolver`). `groups`
has the scripted seats, `expected` what they must score; `guessers` those who only look at words; `skeletons` proposes shapes.
"""
