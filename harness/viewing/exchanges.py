"""Requests to the world, each with the bytes that went out and came back, where a conversation has them.

The log knows of a request its method, its path and what it was judged to be; bodies stand in the agent's own record alone. A
tool call is laid beside the next request of the log that has its method and path. A command in a shell is no request, so what
was sent from there has no bodies here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from harness.reading import Act, Lifetime, RecordedEpisode, ToolUse, lifetimes, rule_told
from harness.viewing.texts import CutText, cut_text
from worlds.core.models import Lenient

_AHEAD = 50
"""Tool calls among which the one of a request is looked for: not every call reaches the world."""


class _Arguments(Lenient):
    method: str = "POST"
    url: str = "/submission"
    seconds: float | None = None


class ShownAct(Act):
    """An act with what its tool call sent and got, None where no tool call is known of it, and what became of its artifacts."""

    lives: tuple[Lifetime, ...] = ()
    """Those that it handed out."""

    sent: CutText | None = None
    got: CutText | None = None
    is_breach: bool = False
    """Whether this is the act that the verdict's label is about."""


def exchanges(episode: RecordedEpisode) -> Iterator[ShownAct]:
    """Every act of an episode, in order."""
    uses = [use for one in episode.conversations if one.seat is None for said in one.utterances for use in said.tools]
    targets = [_target(use) for use in uses]
    broken = episode.breach.seq if episode.breach else None
    lives = lifetimes(episode)
    made: dict[int, list[Lifetime]] = {}
    for one in lives:
        made.setdefault(one.seq, []).append(one)
    place = 0
    for act in episode.acts:
        at = _next(targets, place, act) if act.what == "request" else None
        use = uses[at] if at is not None else None
        place = place if at is None else at + 1
        yield ShownAct(
            **{**act.model_dump(), "rule": rule_told(act.rule, act, lives) if act.rule else act.rule},
            lives=tuple(made.get(act.seq, ())),
            sent=cut_text(use.arguments) if use else None,
            got=cut_text(use.answer) if use and use.answer is not None else None,
            is_breach=act.seq == broken,
        )


def _next(targets: Sequence[str | None], place: int, act: Act) -> int | None:
    """Where the next tool call of a request stands."""
    return next((at for at in range(place, min(place + _AHEAD, len(targets))) if targets[at] == act.told), None)


def _target(use: ToolUse) -> str | None:
    """`METHOD /path` of a tool call, as the log writes it; None for one that sends nothing."""
    try:
        asked = _Arguments.model_validate_json(use.arguments)
    except ValidationError:
        return None
    if asked.seconds is not None:
        return None
    path = "/" + asked.url.split("://", 1)[-1].partition("/")[2] if "://" in asked.url else asked.url
    return f"{asked.method} {path.partition('?')[0]}"
