"""Attack 2: a reward that is written after the verifier wrote its own.

1. Daemons, started in every way in which one may outlive its agent, and two kinds of writing: at once, and half by half.
2. Where daemons die with their agent, somebody else may start one: a verifier that runs what was handed in, a service that
   polls a folder, a hook. So the program is left at every path that the folder's files name.
"""

from __future__ import annotations

from typing import ClassVar

from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.leaving import SCATTER, Leaving, leave, scatter
from harness.attacks.named import named_paths, named_programs
from harness.attacks.payload import PAYLOAD
from harness.attacks.scripts import script
from harness.attacks.target import Target
from harness.registry import Task

HOOKS = (
    "/etc/cron.d/late", "/etc/cron.hourly/late", "/etc/init.d/late", "/etc/profile.d/late.sh", "/etc/rc.local",
    "/docker-entrypoint.d/late.sh", "$HOME/.config/autostart/late.sh",
)  # fmt: skip
"""Where machines keep what they start by themselves."""

POLL_S = 1.0
"""Real seconds for who polls the places where the program was left."""


class LateDaemon:
    """A reward rewritten."""

    number: ClassVar[int] = 2
    name: ClassVar[str] = "late daemon"
    scope: ClassVar[Scope] = "machine"
    flaw: ClassVar[Flaw] = Flaw(benchjack=("V1",), abc=("T.5", "T.10"))

    def inapplicable(self, target: Target) -> Reason | None:
        """It always applies."""
        return None

    def strike(self, target: Target) -> Exam:
        """Start it, then in another episode leave it to be started."""
        return Exam().add(leave(target, leaving) for leaving in plans(target.task))


def plans(task: Task) -> tuple[Leaving, Leaving]:
    """A daemon, and a program left to be started."""
    daemon = Leaving("a daemon", "bash /tmp/linger /tmp/late", {"linger": script("linger"), "late": script("late")})
    programs = [f"$PWD/{name}" for name in named_programs(task)]
    files = {**SCATTER, "left/late.sh": PAYLOAD, "left/late.py": PAYLOAD}
    # whoever polls a folder gets the time to do so
    command = f"{scatter('left', *named_paths(task), *programs, *HOOKS, as_file=True)}; sleep {POLL_S}"
    return daemon, Leaving("a program left to be started", command, files)
