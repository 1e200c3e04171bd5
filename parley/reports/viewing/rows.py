"""Runs and episodes as rows of lists: players, results, and their uncertainty.

1. A rate has its interval and its n. Ungraded episodes are counted separately and not included in rates.
2. Rows of different runs are never pooled, because they may have other tasks and options. Reports compare runs.

A list of episodes is filtered by one value for each column with choices, taken from the query string. A value without rows
gives an empty list and a message; unknown filters are ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

from harness.errors import UsageError
from harness.frames import grouped
from harness.headline import headline_of, setup_caveat
from harness.runs.request import Planned
from parley.caveats import bounds_of
from parley.reports.reading.addresses import episode_name, episode_page, run_page
from parley.reports.viewing.library import Recorded, ShownRun
from parley.statistics import rate_interval
from worlds.core.models import Strict


class EpisodeRow(Strict):
    """An episode in a list."""

    run: str
    family: str
    task: str
    attempt: str
    """`s0-a1`."""

    name: str
    """`webhook-hmac-verify seed 1`."""

    page: str
    player: str
    """The model, or the agent without a model."""

    status: str
    label: str
    """The failure label, SUCCESS, or `ungraded` with the cause."""

    broke: str = ""
    """The request that broke a rule; set on pages only."""

    success: bool
    reward: float | None
    recovered: bool
    stopped_by: str | None
    """Name of the cause that ended it, from the table of causes."""

    stopped: str
    """Message of that cause."""

    steps: int
    virtual_s: float
    cost_usd: float | None


class Score(Strict):
    """Summary of some episodes."""

    graded: int
    succeeded: int
    ungraded: int
    rate: float | None = None
    """None if nothing was graded."""

    low: float | None = None
    high: float | None = None
    """The 95 % interval, clustered by task; None if there is none, or if scipy is not installed."""

    tasks: int
    cost_usd: float | None = None
    """Sum in US dollars; None if no model with a known price was called."""

    unpriced: int = 0
    """Number of episodes of models without a price."""

    bounds: str = ""
    """The rate if all ungraded episodes had failed, and if all had succeeded; "" if all are graded."""


class RunRow(Strict):
    """A run in a list, on one family."""

    run: str
    page: str
    family: str
    players: tuple[str, ...]
    interface: str
    what: str
    """Tasks, seeds, attempts and options, as planned."""

    state: str
    score: Score
    figure: str = ""
    """The figure that the family is ranked by, as `Ypost % 26.8`; empty if it is the success rate."""

    meaning: str = ""
    """Difference between the figure and the success rate."""

    damaged: int = 0
    trouble: str = ""
    caveat: str = ""
    """Caveat that the set-up was at fault in more than 10 % of the episodes."""


def episode_row(run: str, one: Recorded) -> EpisodeRow:
    """Return an episode as a row."""
    key, result = one
    is_graded = result.status == "graded"
    return EpisodeRow(
        run=run,
        family=key.family,
        task=key.task_id,
        attempt=key.name.rpartition("/")[2],
        name=episode_name(key),
        page=episode_page(run, key),
        player=result.model or result.agent,
        status=result.status,
        label=(result.failure_label or "no label") if is_graded else f"ungraded: {result.ended_by or result.cause}",
        success=result.success and is_graded,
        reward=result.reward,
        recovered=result.recovered,
        stopped_by=result.ended_by if result.stopped else None,
        stopped=result.stopped,
        steps=result.steps,
        virtual_s=result.virtual_time_elapsed,
        cost_usd=result.cost_usd,
    )


def score(episodes: Sequence[Recorded]) -> Score:
    """Return the summary of some episodes, with the interval of their success rate."""
    graded = [result for _, result in episodes if result.status == "graded"]
    lost = [result for _, result in episodes if result.status != "graded"]
    by_task = grouped((one for one in episodes if one.result.status == "graded"), lambda one: one.key.task_id)
    low, high = _interval([[one.result.success for one in mine] for mine in by_task.values()])
    succeeded = sum(one.success for one in graded)
    bounds = bounds_of(graded, lost, lambda one: float(one.success))
    costs = [result.cost_usd for _, result in episodes if result.cost_usd is not None]
    return Score(
        graded=len(graded),
        succeeded=succeeded,
        ungraded=len(lost),
        bounds=bounds.sentence() if bounds else "",
        rate=succeeded / len(graded) if graded else None,
        low=low,
        high=high,
        tasks=len(by_task),
        cost_usd=sum(costs) if costs else None,
        unpriced=sum(result.price == "no price" for _, result in episodes),
    )


def run_rows(run: ShownRun, *, is_playing: bool) -> list[RunRow]:
    """Return a run as one row per family that it has played; one row if it has no episodes."""
    families = grouped(run.episodes, lambda one: one.key.family)
    return [_run_row(run, family, played, is_playing=is_playing) for family, played in (families or {"": []}).items()]


def _run_row(run: ShownRun, family: str, played: Sequence[Recorded], *, is_playing: bool) -> RunRow:
    planned = run.record.identity if run.record else None
    by_plan = (planned.agent.model or planned.agent.name,) if planned else ()
    return RunRow(
        run=run.name,
        page=run_page(run.name) + (f"?family={family}" if family and len({one.key.family for one in run.episodes}) > 1 else ""),
        family=family,
        players=tuple(dict.fromkeys(one.result.model or one.result.agent for one in played)) or by_plan,
        interface=", ".join(dict.fromkeys(one.result.interface for one in played if one.result.interface)),
        what=planned_words(planned),
        state=_state(run, planned, is_playing=is_playing),
        score=score(played),
        figure=run.figures.get(family, ""),
        meaning=headline_of(family).meaning if family else "",
        damaged=sum(one.key.family == family for one in run.damaged) if family else len(run.damaged),
        trouble=run.trouble,
        caveat=setup_caveat([one.result for one in played]),
    )


def planned_words(planned: Planned | None) -> str:
    """Return a short description of a plan: tasks, seeds, attempts and options."""
    if planned is None:
        return "the plan cannot be read"
    numbers = ((len(planned.tasks), "task"), (len(planned.seeds), "seed"), (planned.attempts, "attempt"))
    told = [" x ".join(f"{number} {word}{'s' if number != 1 else ''}" for number, word in numbers)]
    told += [f"{name}={value}" for name, value in planned.options.items()]
    told += [f"retries of {planned.retry.of}, hint {planned.retry.hint}"] if planned.retry else []
    return ", ".join(told)


def is_being_played(run: Path) -> bool:
    """Return True if a process of this machine holds a lock on the run's folder.

    It reads the system's list of locks and takes no lock itself.
    """
    try:
        place, held = run.stat().st_ino, Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return False
    return any(line.split()[1:2] == ["FLOCK"] and line.split()[5].endswith(f":{place}") for line in held.splitlines())


def _state(run: ShownRun, planned: Planned | None, *, is_playing: bool) -> str:
    if run.trouble or planned is None:
        return "unreadable"
    done = len(run.episodes) + len(run.damaged)
    whole = len(planned.tasks) * len(planned.seeds) * planned.attempts
    if run.record and run.record.request and run.record.request.retry:
        whole = len(run.record.request.retry.episodes)
    if is_playing:
        return f"playing, {done:,} of {whole:,}"
    return "complete" if done >= whole else f"stopped at {done:,} of {whole:,}"


def _interval(clusters: Sequence[Sequence[bool]]) -> tuple[float | None, float | None]:
    try:
        return rate_interval(clusters) or (None, None)
    except UsageError:
        # without scipy, the list is shown without intervals
        return None, None


FILTERS: dict[str, Callable[[EpisodeRow], str]] = {
    "family": lambda row: row.family,
    "task": lambda row: row.task,
    "label": lambda row: row.label,
    "status": lambda row: "success" if row.success else "failure" if row.status == "graded" else "ungraded",
    "model": lambda row: row.player,
    "stopped": lambda row: row.stopped_by or "nothing",
}
"""For each filter, the value of a row; the name is that of the form field."""


class FilterChoice(Strict):
    """A value of a filter, and the number of rows of the whole run that have it."""

    value: str
    rows: int
    is_chosen: bool


class Facet(Strict):
    """A filter with its choices."""

    name: str
    choices: tuple[FilterChoice, ...]


def chosen(query: Mapping[str, str]) -> dict[str, str]:
    """Return the filters in a query string that have a value."""
    return {name: query[name] for name in FILTERS if query.get(name)}


def listed(rows: Sequence[EpisodeRow], filters: Mapping[str, str]) -> list[EpisodeRow]:
    """Return the rows that match all filters."""
    asked = [(FILTERS[name], value) for name, value in filters.items()]
    return [row for row in rows if all(of(row) == value for of, value in asked)]


def facets(rows: Sequence[EpisodeRow], filters: Mapping[str, str]) -> tuple[Facet, ...]:
    """Return every filter with its values, most frequent first; filters with a single value are left out unless in use."""
    made = []
    for name, of in FILTERS.items():
        counted = Counter(map(of, rows))
        if name in filters:
            counted.setdefault(filters[name], 0)
        if len(counted) > 1 or name in filters:
            # tasks by name, everything else by its number of rows
            ordered = sorted(counted.items()) if name == "task" else sorted(counted.items(), key=lambda one: (-one[1], one[0]))
            choices = (FilterChoice(value=value, rows=n, is_chosen=value == filters.get(name)) for value, n in ordered)
            made.append(Facet(name=name, choices=tuple(choices)))
    return tuple(made)


def address(filters: Mapping[str, str], page: int) -> str:
    """Return the query string of one page of a filtered list."""
    return "?" + urlencode({**filters, "page": page})
