"""How many files and sockets this process may have open at once: as many as its user may have.

Shells start programs with a low limit, 1,024 as a rule, that any of them may raise (setrlimit(2)). An open pod takes six
to nine with the connection of its model, and one that is opened ahead of its time as many again.
"""

from __future__ import annotations

import resource

MOST = 65_536
"""Enough for thousands of pods; where there is no limit at all, some libraries walk through every number below it."""


def allow_many_files() -> None:
    """Raise the limit of this process as far as it goes without asking anybody."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if most == resource.RLIM_INFINITY else min(MOST, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
