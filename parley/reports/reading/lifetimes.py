"""Actual lifetimes of an episode's artifacts, and what ended each, as far as the log shows.

1. The log records when an artifact was issued and when it expires, but not an earlier end. If a use was refused as too late,
its details contain the time at which the artifact had ended.
2. Without such a use, the end is estimated from the next generation: `token_1` follows `token_0`, or an artifact is issued
again under its own name. Some worlds keep the previous artifact valid for a while, so such an end `is_certain` only if a
refusal confirms it. An artifact that is issued again with the same start was extended.
3. The log shows that an artifact is for single use only if it is used twice. Otherwise its uses are listed without an end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from parley.reports.reading.model import Act, RecordedEpisode
from worlds.core.events import Issued
from worlds.core.models import Strict

_GENERATION = re.compile(r"(?P<name>.+)_(?P<number>\d+)", re.ASCII)
_ENDED = "was used, replaced or revoked before"
"""Message of a world for a credential that has ended, without its cause."""

_LOST = re.compile(r"the (?P<name>\w+) was lost\b", re.ASCII)
"""Message of a planned refusal that says that a service has withdrawn an artifact."""


class Lifetime(Strict):
    """An artifact from the request that issued it."""

    artifact: str
    seq: int
    """Number of the request that issued it."""

    begin: float
    end: float
    """Actual or scheduled end, in virtual seconds."""

    planned: float
    """Scheduled expiry."""

    ended_by: str = ""
    """`replaced by request 2 at 4 s`; empty if nothing is known to have ended it before its expiry."""

    is_certain: bool = True
    """True if it was unusable after `end`; otherwise it is only known that another was issued then."""

    uses: tuple[float, ...] = ()
    """Times of the requests that used it, including late ones."""


def lifetimes(episode: RecordedEpisode) -> tuple[Lifetime, ...]:
    """Return the lifetimes of all artifacts, one for each time that an artifact was issued, in order."""
    made = [(act, one) for act in episode.acts for one in act.issued]
    return tuple(_lifetime(episode.acts, made, act, one) for act, one in made)


def rule_told(rule: str, act: Act, lives: Sequence[Lifetime]) -> str:
    """Return the rule that a request broke, naming what ended the artifact instead of all possible causes."""
    ended = next((one for one in reversed(lives) if one.artifact == act.detail.get("resource_id") and one.seq < act.seq), None)
    return rule.replace(_ENDED, f"was {ended.ended_by}") if ended and ended.ended_by else rule


def breach_told(episode: RecordedEpisode) -> str:
    """Return the rule that failed an episode, with what ended the artifact if the log shows it; "" for a success."""
    if episode.breach is None:
        return ""
    act = next((act for act in episode.acts if act.seq == episode.breach.seq), None)
    return rule_told(episode.breach.rule, act, lifetimes(episode)) if act else episode.breach.rule


def _lifetime(acts: Sequence[Act], made: Sequence[tuple[Act, Issued]], act: Act, one: Issued) -> Lifetime:
    planned = one.expires_at / 1000
    after = next(_followers(made, act, one), None)
    later = after[0].seq if after and after[1].artifact == one.artifact else float("inf")
    uses = [other for other in acts if one.artifact in other.used and act.seq < other.seq <= later]
    life = Lifetime(
        artifact=one.artifact, seq=act.seq, begin=one.issued_at / 1000, end=planned, planned=planned,
        uses=tuple(use.at for use in uses),
    )  # fmt: skip
    end = next((end for use in uses if (end := _refused_from(use, one)) is not None), None)
    if end is not None:
        ended_by = _what_ended(acts, one, after, end) if end < planned else ""
        return life.model_copy(update={"end": end, "ended_by": ended_by})
    lost = next((use for use in uses if _is_loss(use, one)), None)
    if lost is not None:
        return life.model_copy(update={"end": lost.at, "ended_by": f"lost at request {lost.seq} at {lost.at:g} s"})
    if after is None or after[0].at >= planned:
        return life
    if any(use.at > after[0].at and use.kind in {"ok", "goal"} for use in uses):
        return life.model_copy(update={"ended_by": f"its time, though {_replaced(one, *after)}"})
    if after[1].issued_at == one.issued_at:
        return life.model_copy(update={"ended_by": _replaced(one, *after)})
    return life.model_copy(update={"end": after[0].at, "ended_by": _replaced(one, *after), "is_certain": False})


def _followers(made: Sequence[tuple[Act, Issued]], act: Act, one: Issued) -> Iterator[tuple[Act, Issued]]:
    """Yield the later requests that issued this artifact again, or issued the next generation of its name."""
    own = _GENERATION.fullmatch(one.artifact)
    is_counted = own is not None and any(other.artifact == f"{own['name']}_0" for _, other in made)
    following = f"{own['name']}_{int(own['number']) + 1}" if own and is_counted else one.artifact
    for place, other in made:
        is_anew = other.artifact == one.artifact and other.expires_at != one.expires_at
        if place.seq > act.seq and (is_anew or other.artifact == following != one.artifact):
            yield place, other


def _refused_from(use: Act, one: Issued) -> float | None:
    """Return the time from which an artifact was refused, from a use that came too late; None for any other use."""
    late, at = (use.detail.get(name) for name in ("expired_by_seconds", "time_of_attempt"))
    if use.detail.get("resource_id") != one.artifact or not isinstance(late, int | float) or not isinstance(at, int | float):
        return None
    return round(at - late, 3)


def _is_loss(use: Act, one: Issued) -> bool:
    """Return True if a planned refusal says that the artifact used for the request is lost."""
    told = _LOST.match(use.rule or "") if use.kind == "protocol" else None
    return told is not None and one.artifact.startswith(told["name"])


def _what_ended(acts: Sequence[Act], one: Issued, after: tuple[Act, Issued] | None, end: float) -> str:
    """Return what ended an artifact early: the request at that time, or the one that replaced it with a grace period."""
    if after and after[0].at <= end:
        return _replaced(one, *after) + (f" and worked until {end:g} s" if after[0].at < end else "")
    by = next((act for act in acts if act.what == "request" and act.at == end), None)
    if by is None:
        return f"ended at {end:g} s"
    return f"{'used' if one.artifact in by.used else 'revoked'} by request {by.seq} at {end:g} s"


def _replaced(one: Issued, by: Act, other: Issued) -> str:
    is_extended = other.artifact == one.artifact and other.issued_at == one.issued_at
    return f"{'extended' if is_extended else 'replaced'} by request {by.seq} at {by.at:g} s"
