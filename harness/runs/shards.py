"""Shard of a plan's episodes (`--shard 2/4`), so that independent machines can play one run together.

Every n-th episode belongs to one shard, counted by family, task, seed and attempt. Each shard therefore has the same number of
episodes of every family and task, give or take one, whatever the order of the tasks. All shards have the plan of the whole run,
which `harness merge` compares to check that the shards belong together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, model_validator

from harness.errors import UsageError
from harness.records import Key
from worlds.core.models import Strict

MOST = 100_000
"""Maximum number of shards of one run."""


class Shard(Strict):
    """Number of a shard, and the number of shards."""

    number: Annotated[int, Field(ge=1)]
    """Number of the shard, from 1."""

    of: Annotated[int, Field(ge=1, le=MOST)]

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Shard:
        if self.number > self.of:
            raise ValueError(f"there is no shard {self.number} of {self.of}")
        return self

    def __str__(self) -> str:
        """Return the shard as the user types it."""
        return f"{self.number}/{self.of}"

    def chosen(self, keys: Sequence[Key]) -> list[Key]:
        """Return the episodes of this shard, in the plan's order."""
        mine = set(sorted(keys, key=Key.place)[self.number - 1 :: self.of])
        return [key for key in keys if key in mine]

    def size(self, episodes: int) -> int:
        """Return the number of episodes in this shard, out of `episodes`."""
        return len(range(self.number - 1, episodes, self.of))


def parse_shard(text: str) -> Shard:
    """Parse `2/4` as the second of four shards; raises UsageError for anything else."""
    written = re.fullmatch(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", text)
    number, of = (int(written[1]), int(written[2])) if written else (0, 0)
    if not 1 <= number <= of <= MOST:
        raise UsageError(f"--shard must look like 1/4 for the first of four, not {text!r}", hint="--shard 1/4")
    return Shard(number=number, of=of)
