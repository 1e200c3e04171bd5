"""What a contract episode's folder tells besides its requests: each artifact, how long it lived, and when it was used."""

from __future__ import annotations

from harness.reading import Act, Breach, RecordedEpisode, Section
from worlds.contract.labels import Label
from worlds.core.events import Issued


def sections(episode: RecordedEpisode) -> list[Section]:
    """One row for each time that an artifact was handed out; nothing for a task that hands out none."""
    rows = [_row(episode, act, made) for act in episode.acts for made in act.issued]
    columns = ("artifact", "issued at (s)", "ends at (s)", "used at (s)")
    return [Section(title="Artifacts", columns=columns, rows=tuple(rows))] if rows else []


def breach(episode: RecordedEpisode) -> Breach | None:
    """An artifact that ran out unused while a budget ended the episode: no request broke a rule, and none will."""
    detail = episode.result.failure_detail
    ended = next((act for act in reversed(episode.acts) if act.what in {"closed", "stop"}), None)
    if episode.result.failure_label != Label.EXPIRED_BEFORE_USE or "resource_id" not in detail:
        return None
    return Breach(
        label=Label.EXPIRED_BEFORE_USE,
        rule=f"{detail['resource_id']} ran out unused",
        where=f"{ended.told} at {ended.at:g} s" if ended else "",
        seq=ended.seq if ended else None,
    )


def _row(episode: RecordedEpisode, act: Act, made: Issued) -> tuple[str, float, float, str]:
    used = [later.at for later in episode.acts if made.artifact in later.used and later.seq > act.seq]
    told = ", ".join(f"{at:g}" for at in used) or "never"
    return made.artifact, made.issued_at / 1000, made.expires_at / 1000, told
