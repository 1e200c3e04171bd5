"""Modules that are imported by name on demand.

1. The parts of a family, `parley.families.<family>`, by the rule of `worlds.core.parts`.
2. Entries `module:name` of our own tables: commands, runtimes, agents, and optional parts of a run. A command needs only a few
of them, so they are imported on demand.
3. Commands, agents and runtimes of other installed distributions, by their entry points `parley.commands`, `parley.agents` and
   `parley.runtimes`. Entry points are read only for names that our tables do not have, because reading them takes 40 to 90 ms.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, Literal

from harness.refusals import UsageError
from worlds.core.parts import families_in, import_part

_ROOM = "parley.families"

OPTIONAL = {
    "changed requests": "harness.agents.path:RoutedPod",
    "verbose log": "harness.verbose:log_to_stderr",
    "resumed request": "harness.cli.resuming:resumed",
    "amended plan": "harness.runs.resume_rules:amend",
    "ray": "parley.ray.site:RayCluster",
    "processes": "parley.bulk:BulkSite",
    "until": "parley.sweeps.session:DecidingSession",
    "recorded seat": "parley.replayed:ReplaySeat",
    "check recording": "parley.replayed:check_recording",
    "terminal": "parley.hosting.terminal:this_terminal",
    "foreign pod": "parley.interop.foreign.pod:ForeignPod",
    "foreign images": "parley.interop.foreign.asked:build_images",
    "foreign refusal": "parley.interop.foreign.asked:unsupported",
    "plan": "parley.commands.dry_run:show_planned",
    "packed run": "parley.reports.archive:PackedFiles",
    "tables": "parley.commands.report:show_tables",
    "episode": "parley.reports.reading:read_episode",
    "bounds": "parley.caveats:bounds_of",
    "many episodes": "parley.reports.closing:show_many",
    "narrow blocks": "parley.tables:narrow_blocks",
    "live table": "parley.reports.closing:live_table",
    "stream": "parley.reports.stream:streamed",
    "compact": "parley.reports.compact:MeasurePacker",
    "grant": "parley.interop.foreign.variables:grant",
    "solution environment": "parley.interop.foreign.variables:solution_environment",
    "retry": "parley.requests.coaching:read_retry",
    "first player": "parley.requests.coaching:first_player",
    "team": "parley.requests.teams:teamed",
    "same team": "parley.requests.teams:same_team",
    "templates": "parley.requests.texts:read_templates",
    "check templates": "parley.requests.texts:check_templates",
    "variant": "parley.requests.texts:read_variant",
    "seat variants": "parley.requests.texts:read_seat_variants",
    "check variants": "parley.requests.texts:check_variants",
}
"""Optional parts of a run: most are in `parley`, and a few of the core are here because most runs do not need them."""

Kind = Literal["commands", "agents", "runtimes"]


def families() -> list[str]:
    """Return every family that has a world or a part in `parley.families`, sorted."""
    return sorted({*families_in("worlds"), *families_in(_ROOM)})


def family_part(family: str, name: str) -> ModuleType:
    """Return the module `name` of a family; raises UsageError if the family has none."""
    module = family_part_or_none(family, name)
    if module is None:
        raise UsageError(f"the family {family!r} has no {name}")
    return module


def family_part_or_none(family: str, name: str) -> ModuleType | None:
    """Return the module `name` of a family, or None."""
    return import_part(_ROOM, family, name)


def load(entry: str) -> Any:
    """Import the object that a table entry `module:name` refers to."""
    module, _, name = entry.partition(":")
    return getattr(importlib.import_module(module), name)


def optional(name: str) -> Any:
    """Import an entry of `OPTIONAL`."""
    return load(OPTIONAL[name])


def plugin(kind: Kind, name: str) -> Any:
    """Return the object that a distribution registers under this name, or None; raises UsageError if it cannot be imported."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes 40 to 90 ms

    for entry in entry_points(group=f"parley.{kind}", name=name):
        try:
            return entry.load()
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"{name!r} is registered as {entry.value}, which cannot be imported: {error}", hint="pip check"
            ) from None
    return None


def brought_by(kind: Kind, name: str) -> dict[str, str]:
    """Return the name and version of the distribution that registers this name; empty if none does."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes 40 to 90 ms

    entries = entry_points(group=f"parley.{kind}", name=name)
    return {entry.dist.name: entry.dist.version for entry in entries if entry.dist is not None}


def plugins(kind: Kind) -> list[str]:
    """Return the names that installed distributions register, sorted."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes 40 to 90 ms

    return sorted({entry.name for entry in entry_points(group=f"parley.{kind}")})
