"""Attack 2: a reward that is written after the verifier wrote its own.

1. Daemons, started in every way in which one may outlive its agent, and two kinds of writing: at once, and half by half.
2. Where daemons die with their agent, somebody else may start one: a verifier that runs what was handed in, a service that
   polls a folder, a hook. So the program is left at every path that the folder's files name.
"""

from __future__ import annotations

from typing import ClassVar

from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.leaving import SCATTER, leave, scatter
from harness.attacks.named import named_paths, named_programs
from harness.attacks.payload import PAYLOAD
from harness.attacks.scripts import script
from harness.attacks.target import Target

HOOKS = (
    "/etc/cron.d/late", "/etc/cron.hourly/late", "/etc/init.d/late", "/etc/profile.d/late.sh", "/etc/rc.local",
    "/docker-entrypoint.d/late.sh", "$HOME/.config/autostart/late.sh",
)  # fmt: skip
"""Where machines keep what they start by themselves."""


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
        daemon = leave(
            target, "a daemon", "bash /tmp/linger /tmp/late", {"linger": script("linger"), "late": script("late")}
        )  # fmt: skip
        programs = [f"$PWD/{name}" for name in named_programs(target.task)]
        places = (*named_paths(target.task), *target.artifacts, *programs, *HOOKS)
        files = {**SCATTER, "left/late.sh": PAYLOAD, "left/late.py": PAYLOAD}
        return daemon.add([leave(target, "a program left to be started", scatter("left", *places, as_file=True), files)])
