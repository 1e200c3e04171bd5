"""Episodes that a resume plays (`--only`): those that failed, those without a score, or those of some tasks.

A graded episode is never replayed, whatever the option says. Otherwise a user could replay an episode until its grade is
better.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from harness.errors import UsageError
from harness.records import Key, Result

STATES = {"errored": "an attempt was made and has no grade", "unscored": "there is no grade, played or not"}
"""Values of `--only` besides tasks, with their meaning."""


class EpisodeChoice(NamedTuple):
    """Selection among the episodes without a grade."""

    errored: bool = False
    """True to play only episodes with a recorded attempt."""

    tasks: frozenset[str] = frozenset()
    """Tasks to play; empty for all."""

    def takes(self, key: Key, recorded: Result | None) -> bool:
        """Return True if an episode is played; `recorded` is the result in its folder."""
        if recorded is not None and recorded.status == "graded":
            return False
        return (not self.tasks or key.task_id in self.tasks) and (recorded is not None or not self.errored)


EVERYTHING = EpisodeChoice()


def read_choice(words: Sequence[str], tasks: Collection[str]) -> EpisodeChoice:
    """Parse `--only` for a run with these tasks; raises UsageError for a word that is neither a state nor a task."""
    if unknown := [word for word in words if word not in STATES and word not in tasks]:
        known = f"{', '.join(STATES)} or a task of the run"
        raise UsageError(f"--only takes {known}, not {unknown[0]!r}", hint=f"--only {next(iter(sorted(tasks)), 'errored')}")
    return EpisodeChoice("errored" in words, frozenset(word for word in words if word in tasks))
