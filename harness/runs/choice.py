"""Which episodes of a run a resume plays (`--only`): those lost to an error, those without a score, or those of some tasks.

An episode that has a grade is never played again, whatever is asked: whoever could roll again for a better grade would have a
number that nobody can believe.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from harness.errors import UsageError
from harness.records import Key, Result

STATES = {"errored": "an attempt was made and has no grade", "unscored": "there is no grade, played or not"}
"""What `--only` takes beside tasks, and what it means."""


@dataclass(frozen=True)
class EpisodeChoice:
    """Which of the episodes without a grade are played."""

    errored: bool = False
    """Those only of which an attempt is recorded."""

    tasks: frozenset[str] = frozenset()
    """Those only of these tasks; empty: of all."""

    def takes(self, key: Key, recorded: Result | None) -> bool:
        """Whether an episode is played; `recorded` is what its folder holds."""
        if recorded is not None and recorded.status == "graded":
            return False
        return (not self.tasks or key.task_id in self.tasks) and (recorded is not None or not self.errored)


EVERYTHING = EpisodeChoice()


def read_choice(words: Sequence[str], tasks: Collection[str]) -> EpisodeChoice:
    """What `--only` says of a run with these tasks; raises UsageError for a word that is neither a state nor one of them."""
    if unknown := [word for word in words if word not in STATES and word not in tasks]:
        known = f"{', '.join(STATES)} or a task of the run"
        raise UsageError(f"--only takes {known}, not {unknown[0]!r}", hint=f"--only {next(iter(sorted(tasks)), 'errored')}")
    return EpisodeChoice("errored" in words, frozenset(word for word in words if word in tasks))
