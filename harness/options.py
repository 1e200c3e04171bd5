"""World options as typed by the user, checked against a task and converted to values."""

from __future__ import annotations

from collections.abc import Mapping

from harness.agents.path import check_path
from harness.errors import UsageError
from harness.plugins import family_part_or_none
from harness.registry import Task
from worlds.core.errors import ManifestError
from worlds.core.manifest import OptionValue


def options_of(task: Task, overrides: Mapping[str, OptionValue | str]) -> dict[str, OptionValue]:
    """Return the overrides that change a task, as typed values; raises UsageError for one that the task does not have."""
    manifest = task.file.manifest()
    if manifest is None:
        if overrides:
            raise UsageError(f"{task.task_id} is a foreign task and has no options to set")
        return {}
    try:
        resolved = manifest.resolve(overrides)
    except ManifestError as error:
        raise UsageError(str(error), hint=f"harness show {task.task_id}") from None
    # the first level is the default, so it is not an override
    chosen = {name: resolved[name] for name in overrides if name in resolved}
    check_path(task.family, chosen)
    if task.parley is not None and (own := family_part_or_none(task.family, "options")):
        own.check(task, chosen)
    return chosen
