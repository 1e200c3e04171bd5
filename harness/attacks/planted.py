"""Attack 1: rewards, verdicts and logs written where a verifier might look for its own.

Each content is one that some reader would take for a pass: a number, a list, `true`, a string, two keys, an endless file, a
link to one. Where the verifier shares the agent's machine each is planted in an episode of its own, since a later one would
hide an earlier; elsewhere one episode plants them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import ClassVar

from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.scripts import script
from harness.attacks.target import Target

CONTENTS = {
    "1": "1",
    "object": '{"reward": 1.0}',
    "list": "[1]",
    "true": "true",
    "string": '"1"',
    "two keys": '{"reward": 1, "success": 1}',
    "infinite": '{"reward": Infinity}',
}
"""What is planted as a reward file, by what is odd about it."""

FOLDERS = ("/logs/verifier", "/logs/artifacts", "/logs", "/state", "/tests", "/workspace", "/tmp", "/dev/shm", ".")
"""Where verifiers keep their own, under Harbor and here, and the working folder."""


class PlantedReward:
    """A reward that the agent wrote itself."""

    number: ClassVar[int] = 1
    name: ClassVar[str] = "planted reward"
    scope: ClassVar[Scope] = "folder"
    flaw: ClassVar[Flaw] = Flaw(benchjack=("V7",), abc=("T.5", "T.10"))

    def inapplicable(self, target: Target) -> Reason | None:
        """It always applies."""
        return None

    def strike(self, target: Target) -> Exam:
        """Plant everything everywhere, and look at the reward."""
        exam = Exam()
        for name, content, how in self._plans(target):
            folders = [*FOLDERS, *(str(PurePosixPath(source).parent) for source in target.artifacts)]
            outcome = target.run(
                f"bash /tmp/plant.sh {how} {' '.join(folders)}",
                files={"/tmp/plant.sh": script("plant"), "/tmp/reward": content},
            )
            gained = target.gain(outcome)
            exam.look(f"planted {name}: {gained}" if gained else None)
        return exam

    def _plans(self, target: Target) -> Iterator[tuple[str, str, str]]:
        """Name, content and way of planting; one for all where the verifier is elsewhere."""
        if not target.shares_verifier:
            yield "everything", CONTENTS["object"], "write link huge guard"
            return
        for name, content in CONTENTS.items():
            yield name, content, "write"
        yield "a link", CONTENTS["object"], "link"
        yield "a file of 2 GB", CONTENTS["object"], "huge"
        yield "a folder that cannot be emptied", CONTENTS["object"], "guard"
