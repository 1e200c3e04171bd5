"""Attacks that can be run on any task folder: each tries to get a reward without doing the work, and reports what it examined.

    base        interface and results of attacks, one row per attack, as data
    target      a folder under attack in one runtime: opens and grades episodes, knows nop's reward; the parts of this host
                that no attack may change
    suite       the list of attacks, which ones a folder gets, and how they are run
    scripts     programs that attacks run in `main` (in-main/), and the payloads that they leave behind
    recording   a recorded play of the folder's own solution: its requests and files
    hidden      material of a folder that must stay hidden from agents, and a fast search for it
    services    services beside `main` in a foreign folder: ports, paths, raw requests

The other modules hold the attacks, one class each: `leaving` 1 to 4, `answers` 5 to 7, `content` 8 and 9, `resources` 11 and
15, `routes` 12, `grading` 10, 13 and 14, `seats` 16, `folder` 17.
"""
