"""Attacks on a task folder: each tries to get a reward without doing the work, and reports what it examined.

`suite` has the table of attacks, `target` the folder under attack, `scripts` the programs that attacks run in `main`
(in-main/). The modules with the attacks are `plant_files` (1 to 4), `answers` (5 to 7), `content` (8 and 9), `resources` (11
and 15), `routes` (12), `grading` (10, 13 and 14), `seats` (16) and `folder` (17).
"""
