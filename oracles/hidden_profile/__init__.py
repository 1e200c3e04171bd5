"""Proofs about hidden profiles: read `logic`, `prover`, `wording`, `forward`, then `certificate`, which asks them all.

Two witnesses answer the same questions: the table of worlds (`logic.Exhaustive`) and a solver (`second.Solver`). `groups` has
the scripted seats, `expected` what they must score; `guessers` those who only look at words; `skeletons` proposes shapes.
"""
