"""Additional sections of a contract episode: each artifact with its lifetime, its uses, and what ended it."""

from __future__ import annotations

from parley.reports.reading import Breach, Lifetime, RecordedEpisode, Section, lifetimes
from worlds.contract.labels import Label


def sections(episode: RecordedEpisode) -> list[Section]:
    """Return one row for each time that an artifact was issued; no section for a task without artifacts."""
    rows = [_row(one, episode.result.virtual_time_elapsed) for one in lifetimes(episode)]
    columns = ("artifact", "issued at (s)", "ends at (s)", "used at (s)", "what ended it")
    return [Section(title="Artifacts", columns=columns, rows=tuple(rows))] if rows else []


def breach(episode: RecordedEpisode) -> Breach | None:
    """Return the breach if an artifact expired unused before the end of the episode, so that no request broke a rule."""
    detail = episode.result.failure_detail
    ended = next((act for act in reversed(episode.acts) if act.what in {"closed", "stop"}), None)
    if episode.result.failure_label != Label.EXPIRED_BEFORE_USE or "resource_id" not in detail:
        return None
    return Breach(
        label=Label.EXPIRED_BEFORE_USE,
        rule=f"{detail['resource_id']} expired unused",
        where=f"{ended.told} at {ended.at:g} s" if ended else "",
        seq=ended.seq if ended else None,
    )


def _row(one: Lifetime, elapsed: float) -> tuple[str, float, float, str, str]:
    used = ", ".join(f"{at:g}" for at in one.uses) or "never"
    ended = one.ended_by or ("its time" if one.end <= elapsed else "nothing, as far as the log tells")
    return one.artifact, one.begin, one.end, used, ended
