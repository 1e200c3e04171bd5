"""Attacks that anyone can run on any task folder: each tries to get a reward without the work, and says what it examined.

    base        what an attack is, and what it may answer
    target      one folder under attack in one runtime: opens episodes, has them graded, knows what nop earns
    report      one row an attack, as data
    suite       which attacks there are, which of them a folder gets, and how they are run
    host        what of this host no attack may change
    recording   the folder's own solution, played while all it says and makes is written down; `exchange` reads it out
    hidden      what of a folder no agent may come across, and a quick search for it
    layers      what a folder's own Dockerfile adds to the image of `main`
    services    the services beside `main` of a foreign folder: ports, paths, raw requests
    stray       how many requests a world takes before its budgets close it
The other modules hold the attacks, one class each; in-main/ holds what they run in `main`.
"""

__all__ = ["report", "suite"]
