"""What must be equal for two runs to be compared: the tasks' digests, the seeds, the edition's key, options, budget, texts.

A difference that is the very question (`--across options`) may be allowed; digests, seeds and keys never, since then the two
did not play the same instances.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from harness.errors import UsageError
from harness.report.evidence import Evidence, Group
from harness.report.setups import Conditions

ACROSS = ("options", "budget", "texts")
_NAMED = 3


class Differing(NamedTuple):
    """One thing that two groups do not share."""

    name: str
    told: str


def matched(first: Evidence, second: Evidence) -> list[tuple[Group, Group]]:
    """The set-ups of one family, two by two; raises UsageError where it cannot be told which belongs to which."""
    ours, theirs = first.played, second.played
    if len(ours) == len(theirs) == 1:
        return [(ours[0], theirs[0])]
    by_how = {group.setup.how: group for group in theirs}
    pairs = [(group, by_how[group.setup.how]) for group in ours if group.setup.how in by_how]
    if len(pairs) != len(ours) or len(pairs) != len(theirs) or len(by_how) != len(theirs):
        told = " against ".join(", ".join(group.name for group in groups) or "nothing" for groups in (ours, theirs))
        raise UsageError(
            f"not comparable: the set-ups of {first.family} do not come in pairs: {told}",
            hint="harness compare with one set-up on each side: a part of a sweep is a folder of its own",
        )
    return pairs


def check(first: Evidence, second: Evidence, pairs: Sequence[tuple[Group, Group]], across: Collection[str]) -> list[Differing]:
    """What differs although it is allowed to; raises UsageError, exit 2, that names everything that may not."""
    for name in across:
        if name not in ACROSS:
            raise UsageError(f"--across takes {', '.join(ACROSS)}, not {name!r}")
    differing = [one for a, b in pairs for one in _differing(first, a, second, b)]
    barred = [one for one in differing if one.name not in across]
    if barred:
        told = "; ".join(f"{one.name} differ ({one.told})" for one in dict.fromkeys(barred))
        allowed = [one.name for one in barred if one.name in ACROSS]
        hint = "play both on the same tasks, seeds and key"
        if len(allowed) == len(barred):
            hint = "harness compare A B " + " ".join(f"--across {name}" for name in dict.fromkeys(allowed))
        raise UsageError(f"not comparable in {first.family}: {told}", hint=hint)
    return differing


def _differing(first: Evidence, a: Group, second: Evidence, b: Group) -> Iterator[Differing]:
    ours, theirs = a.planned, b.planned
    changed = sorted(task for task in ours.keys() & theirs.keys() if ours[task] != theirs[task])
    if changed:
        more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
        yield Differing("digests", f"of {', '.join(changed[:_NAMED])}{more}")
    if ours and theirs and not ours.keys() & theirs.keys():
        yield Differing("tasks", f"{len(ours)} and {len(theirs)}, none in common")
    if a.seeds != b.seeds:
        yield Differing("seeds", f"{_seeds(a)} and {_seeds(b)}")
    keys = [{result.key_digest for result in (*group.graded, *group.ungraded)} for group in (a, b)]
    if keys[0] != keys[1]:
        yield Differing("keys", " and ".join("+".join(sorted(key[:8] for key in some)) for some in keys))
    for name, told in {
        "options": [_conditions(evidence, group)[0] for evidence, group in ((first, a), (second, b))],
        "budget": [_conditions(evidence, group)[1] for evidence, group in ((first, a), (second, b))],
        "texts": [sorted({plan.templates[:8] for plan in group.plans if plan.templates}) for group in (a, b)],
    }.items():
        if told[0] != told[1]:
            yield Differing(name, " and ".join(", ".join(words) or "the default" for words in told))


def _seeds(group: Group) -> str:
    seeds = sorted(group.seeds)
    whole = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]}-{seeds[-1]}" if whole else ",".join(map(str, seeds)) or "none"


def _conditions(evidence: Evidence, group: Group) -> tuple[list[str], list[str]]:
    """Options and budgets that are not the default; all episodes of a group share them."""
    results = [*group.graded, *group.ungraded]
    conditions = Conditions(group.plans[0], evidence.registry, results)
    return conditions.options(results[0]), conditions.budgets()
