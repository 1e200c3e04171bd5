"""Who knew what from which turn on: facts told by cues and cites, and what the facts that a seat knows prove.

1. A turn tells a fact where one of its cues fires on the words (specification, 2.7), or where it is cited on the structured
   track, and its speaker holds the fact or has heard it. What nobody heard tells nothing.
2. Everybody reads everything before acting again, so after a turn all know what it told.
3. Proofs are those of the certificate: without one that holds nothing is proved, and `proofs` gives None.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from validators.hidden_profile.history import Opening, Replay
from worlds.hidden_profile.rules import scores
from worlds.hidden_profile.rules.certificate import Certificate
from worlds.hidden_profile.rules.hearing import surfaced
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import LIMIT, WorldTable, tabulate


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a session's turns told, and to whom it was new."""

    told: tuple[tuple[str, ...], ...]
    """By turn: the facts that it told, in the scenario's order."""

    cited_only: frozenset[str]
    """Facts that were cited and never put into words by anybody: the world printed them beside the handle."""

    learned: tuple[dict[str, int], ...]
    """By seat: fact -> the turn, from 1, after which it knew it; 0 for what it held."""

    surfaced: dict[str, int]
    """Fact -> the first turn, from 1, that told it; 0 where facts were read out before the first."""

    def known(self, seat: int, turn: int) -> frozenset[str]:
        """What a seat knew after a turn; 0 is before the first."""
        return frozenset(fact for fact, since in self.learned[seat].items() if since <= turn)


@dataclass(frozen=True, slots=True)
class Proofs:
    """What sets of facts prove in a deal of a certified deck."""

    necessary: frozenset[str]
    """Private facts without any one of which the key is not proved (check C3)."""

    table: WorldTable
    scenario: Scenario

    def entails(self, known: frozenset[str]) -> bool:
        """Whether these facts, with the promise, prove the key."""
        return scores.entails(self.table, known)

    def excluded(self, known: frozenset[str]) -> tuple[str, ...]:
        """The options that these facts put out, in the file's order."""
        out = scores.excluded(self.table, known)
        return tuple(option for option in self.scenario.option_ids if option in out)

    def supports(self, known: frozenset[str], option: str, against: str) -> bool:
        """Whether these facts, with the promise, rule out one option and leave the other."""
        worlds = self.table.known(known)
        return bool(worlds & self.table.only[option]) and not worlds & self.table.only[against]


def knowledge(replay: Replay) -> Knowledge:
    """Follow what was told through a session."""
    opening, order = replay.opening, replay.opening.scenario.by_id
    own = {fact for hand in opening.hands for fact in hand if order[fact].scope != "shared"}
    heard = dict.fromkeys((fact for fact in order if fact in own and opening.settings.reveal_all), 0)
    read_out = frozenset(heard)
    spoken: set[str] = set()
    told: list[tuple[str, ...]] = []
    for number, turn in enumerate(replay.turns, start=1):
        own_and_heard = {*opening.hands[turn.seat], *heard}
        words = set(surfaced(opening.scenario, turn.text, own_and_heard)) if turn.text else set()
        spoken.update(words)
        told.append(tuple(fact for fact in order if fact in words or fact in turn.cites))
        for fact in told[-1]:
            heard.setdefault(fact, number)
    learned = tuple(heard | dict.fromkeys(hand, 0) for hand in opening.hands)
    return Knowledge(tuple(told), frozenset(heard.keys() - spoken - read_out), learned, heard)


def proofs(scenario: Scenario, certificate: Certificate) -> Proofs | None:
    """What can be proved of a deal; None without a certificate of its deck that holds."""
    if not certificate.certified or certificate.scenario != scenario.id:
        return None
    if len(scenario.base) > LIMIT:
        return None
    table = tabulate(scenario)
    rest = {fact: [other for other in scenario.by_id if other != fact] for fact in scenario.of_scope("private")}
    return Proofs(frozenset(fact for fact, others in rest.items() if scores.settled(table, others) is None), table, scenario)


def detectable(replay: Replay, facts: Iterable[str]) -> bool:
    """Whether it would show if any of these facts were told: each has cues, or handles are cited."""
    by_id = replay.opening.scenario.by_id
    return replay.opening.settings.track == "structured" or all(by_id[fact].cues for fact in facts)


def holders(opening: Opening, fact: str) -> tuple[int, ...]:
    """The seats that were dealt a fact."""
    return tuple(seat for seat in opening.seats if fact in opening.hands[seat])
