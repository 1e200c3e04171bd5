"""Attacks that anyone can run on any task folder: each tries to get a reward without the work, and says what it examined.

    base        what an attack is, what it may answer, and one row an attack, as data
    target      one folder under attack in one runtime: opens episodes, has them graded, knows what nop earns; what of this
                host no attack may change
    suite       which attacks there are, which of them a folder gets, and how they are run
    scripts     what attacks run in `main`, as it lies in in-main/, and what they leave behind
    recording   the folder's own solution, played while all it says and makes is written down
    hidden      what of a folder no agent may come across, and a quick search for it
    services    the services beside `main` of a foreign folder: ports, paths, raw requests

The others hold the attacks, one class each: `leaving` 1 to 4, `answers` 5 to 7, `content` 8 and 9, `resources` 11 and 15,
`routes` 12, `grading` 10, 13 and 14, `seats` 16, `folder` 17.
"""

__all__ = ["base", "suite"]
