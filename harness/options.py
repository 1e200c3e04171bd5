"""World options as typed by the user, checked against a task and converted to values.

Three options change requests and responses on the way between an agent and its world (`harness.agents.path`):
`mutate`, `handles` and `mitigate` are options of the world, so they are recorded in the first event, in the run's plan and in
every result. Their effect is defined by the world's family, in `parley.families.<family>.path`; a family without this module
does not have these options. A program in `main` connects to the world directly, so the options do not affect it.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.errors import UsageError
from harness.plugins import family_part, family_part_or_none
from harness.registry import Task
from worlds.core.errors import ManifestError
from worlds.core.manifest import OptionValue

OPTIONS = ("mutate", "handles", "mitigate")


def options_of(task: Task, overrides: Mapping[str, OptionValue | str]) -> dict[str, OptionValue]:
    """Return the overrides that change a task, as typed values; raises UsageError for an option that the task does not have."""
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


def is_bent(options: Mapping[str, OptionValue]) -> bool:
    """Return True if these options change any request or response between agent and world."""
    handles = str(options.get("handles", False)).lower() == "true"
    return bool(options.get("mutate") or handles or "backoff" in str(options.get("mitigate")).split("+"))


def check_path(family: str, options: Mapping[str, OptionValue]) -> None:
    """Raise UsageError for a path option that the family does not have, or an unknown value."""
    asked = [name for name in OPTIONS if name in options]
    if asked and family_part_or_none(family, "path") is None:
        raise UsageError(f"the family {family!r} has no option {asked[0]!r}", hint="harness show TASK, which lists the options")
    if asked:
        family_part(family, "path").check(options)
