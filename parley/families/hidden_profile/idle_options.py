"""Options without effect in the chosen set-up: they are reported before a run starts, and not refused.

All options of a run identify its row in a table, so an option without effect makes a meaningless separate row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.registry import Task
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import Deck, read_task
from worlds.hidden_profile.rules.settings import Settings

_TOO_FEW = 2
"""Number of rounds that are always played: talk stops only after two rounds with equal leanings."""


def idle(task: Task, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the reason for each option without effect. Raises OSError or ValueError for a bad scenario."""
    settings = Settings.from_options(options)
    return dict(_of_talk(settings)) | dict(_of_facts(settings, task))


def _of_talk(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield options without effect because they need stances or talk."""
    if settings.talk == "chat":
        yield from _of_chat(settings)
        return
    if settings.minutes != Settings().minutes:
        yield "minutes", "only talk=chat has a clock"
    if settings.early_stop and settings.track == "free":
        yield "early_stop", "only track=structured has the stances that an early stop depends on"
    elif settings.early_stop and settings.rounds <= _TOO_FEW:
        yield "early_stop", f"{settings.rounds} rounds are too few to stop before the last"
    if settings.structure == "information_first" and settings.exchange_decide:
        yield "exchange_decide", "structure=information_first divides the rounds in the same way"
    if settings.rounds:
        return
    for name, is_set in (
        ("structure", settings.structure != "none"),
        ("heard", settings.heard == "all"),
        ("exchange_decide", settings.exchange_decide),
        ("vote_view", settings.vote_view == "last_round"),
        ("remind_pre_vote", settings.remind_pre_vote),
        ("stance_poll", settings.stance_poll),
    ):
        if is_set:
            yield name, "there is no round of talk"


def _of_chat(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield options without effect because they need rounds."""
    for name in ("rounds", "horizon", "exchange_decide", "vote_view", "remind_pre_vote", "early_stop", "stance_poll"):
        if getattr(settings, name) != getattr(Settings(), name):
            yield name, "a chat has no rounds"


def _of_facts(settings: Settings, task: Task) -> Iterator[tuple[str, str]]:
    """Yield options without effect because of the task's size, or because they need facts that only one person has."""
    if settings.reveal_all and settings.condition == "shared_only":
        yield "reveal_all", "no person has private facts in condition=shared_only"
    asks = settings.size or settings.variant == "expert_roles"
    read = read_task(task.world_folder / SCENARIO) if asks else None
    if read is None:
        return
    if settings.size == read.agents:
        yield "size", f"the task is for {read.agents} people by default"
    facts = read.sheet.facts if isinstance(read, Deck) else read.facts
    has_topics = any(fact.about for fact in facts if fact.scope == "private") and settings.condition != "shared_only"
    if settings.variant == "expert_roles" and not has_topics:
        yield "variant", "no private fact is marked as being about an option, so there are no experts"
