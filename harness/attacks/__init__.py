"""Attacks that anyone can run on any task folder: each tries to get a reward without the work, and says what it examined.

    base        what an attack is, and what it may answer
    target      one folder under attack in one runtime: opens episodes, has them graded, knows what nop earns
    report      one row an attack, as data
    suite       which attacks there are, which of them a folder gets, and how they are run
    host        what of this host no attack may change
The other modules hold the attacks, one class each; `scripts/` holds what they run in `main`.
"""
