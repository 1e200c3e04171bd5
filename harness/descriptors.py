"""Limit on open files and sockets of this process, raised to the maximum that its user may have.

Shells start programs with a low limit, usually 1,024, that a process may raise (setrlimit(2)). An open pod takes 6 to 9
descriptors, including the connection of its model, and so does a pod that is opened ahead of time.
"""

from __future__ import annotations

import resource

MOST = 65_536
"""Enough for thousands of pods. Without any limit, some libraries iterate over every possible descriptor below it."""


def allow_many_files() -> None:
    """Raise the limit of this process as far as possible without privileges."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if most == resource.RLIM_INFINITY else min(MOST, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
