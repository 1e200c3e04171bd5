"""The world's log as acts: every request with its time and what it was judged to be, every wait, and how the episode ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.caveats import forfeits_told
from harness.reading.model import Act, Breach, RecordedEpisode
from worlds.core.events import Closed, Event, Requested, Stopped, Waited


def acts_of(events: Sequence[Event]) -> Iterator[Act]:
    """What was asked of the world, in order; the turns of a game are in the conversations of its seats."""
    for event in events:
        at = event.vt / 1000
        if isinstance(event, Requested):
            yield Act(
                seq=event.seq, at=at, what="request", told=f"{event.method} {event.path}", status=event.status,
                kind=event.kind, label=event.label, rule=event.rule, also=event.also, detail=event.detail, used=event.used,
                issued=event.issued,
            )  # fmt: skip
        elif isinstance(event, Waited):
            yield Act(seq=event.seq, at=at, what="wait", told=f"wait {event.ms / 1000:g} s")
        elif isinstance(event, Closed):
            yield Act(seq=event.seq, at=at, what="closed", told=f"closed by the world: {event.cause}")
        elif isinstance(event, Stopped):
            yield Act(seq=event.seq, at=at, what="stop", told=f"stopped by the harness: {event.cause}")


def broken_rule(episode: RecordedEpisode) -> Breach | None:
    """The violation that gave a verdict its label: the first of that label."""
    verdict = episode.verdict
    label = verdict.failure_label if verdict else None
    broken = next((one for one in (verdict.violations if verdict else ()) if one.label == label), None)
    if broken is None or label is None:
        return None
    return Breach(label=label, rule=broken.rule, where=_where(episode, broken.seq, broken.vt / 1000), seq=broken.seq)


def bare_breach(episode: RecordedEpisode) -> Breach:
    """Return what can be said of a failure where neither a violation nor its family says more."""
    result, verdict = episode.result, episode.verdict
    reason = str(result.failure_detail.get("reason", ""))
    failed = [check for check in (verdict.checks if verdict else ()) if not check.ok]
    if result.stopped:
        rule = result.stopped + (f": {result.error}" if result.error else "")
    elif failed and not _NAMED.fullmatch(reason):
        rule = f"the hidden test {failed[0].name} failed: {failed[0].message.partition(chr(10))[0]}"
    else:
        rule = _REASONS.get(reason, f"the goal was not reached: {reason}")
    ended = next((act for act in reversed(episode.acts) if act.what in {"closed", "stop"}), None)
    return Breach(
        label=result.failure_label or "ungraded",
        rule=rule,
        where=f"{ended.told} at {ended.at:g} s" if ended else "",
        seq=ended.seq if ended else None,
    )


def _where(episode: RecordedEpisode, seq: int, at: float) -> str:
    act = next((act for act in episode.acts if act.seq == seq), None)
    return f"{act.told if act else f'event {seq}'} at {at:g} s"


_NAMED = re.compile(r"[a-z_]+")
"""A reason by name, as opposed to what a failed test said."""

_REASONS = {
    "": "the goal was not reached",
    "pre_contract": "the agent sent no request",
    "gave_up": "no rule was broken, and the goal was not reached",
    "no_turns": "no turn was answered",
}
"""What a verdict means by a reason."""


def with_forfeits(breach: Breach, episode: RecordedEpisode) -> Breach:
    """Return a breach whose rule names the turns that seats forfeited."""
    told = list(forfeits_told(episode.result.forfeits))
    return breach.model_copy(update={"rule": "; ".join([breach.rule, *told])}) if told else breach
