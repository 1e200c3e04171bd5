"""Measurements of a session, ready for JSON: votes, shared facts, consensus, conformity, biases, and losses.

Ypre and Ypost of the paper are `votes.before.average` and `votes.after.average` in the condition hidden, Yfull is the first in
full. docs/hidden-profile.md says what is measured ("What is measured").

Biases: does a group discuss shared facts more than chance explains? Both kinds of facts must be detected alike: by cues and
cites if every fact has cues, else by cites alone, if there are any.
1. SIB = (p_s - p_u) / (p_s + p_u), from -1 to 1; p_s is the fraction of shared facts mentioned at least once, p_u of private.
2. A fact that h seats hold surfaces with chance 1 - (1 - p)^h if each holder mentions it with chance p. The null is the SIB of
these chances at the p for which as many facts surface as did: sampling alone favours widely held facts (specification, 1.4).
3. Repetition bias = fraction of shared facts among all mentions of shared and private facts, minus the mean over seats of that
fraction of the hand. Noise counts on neither side.

Stances (specification, 1.4): a stance is the option in a message on the structured track, or the answer to a poll after a
round, which the others do not hear. A seat keeps its last stance. An *opportunity* is a stance of a seat that had one before,
while a strict majority of all others prefers another option.
1. Adopting that option without a private fact that is new since the last stance is a conformity switch.
2. With such a fact it is an informed switch.
3. If all others prefer an option that the seat's facts rule out, while they leave its own, keeping its own is a brave hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any

from validators.hidden_profile.history import Opening, Replay, Vote
from worlds.core.faults import LONGEST_DETAIL, SeatFault
from worlds.hidden_profile.rules.certificate import Certificate
from worlds.hidden_profile.rules.hearing import FALSE, Said, surfaced_facts
from worlds.hidden_profile.rules.measures import (
    Bias,
    Consensus,
    Losses,
    Measures,
    MoveCount,
    SeatMeasures,
    VoteMeasures,
    Votes,
)
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import LIMIT, WorldTable, proves_key, tabulate


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Facts that a session's turns told, and the seats to which they were new."""

    told: tuple[tuple[str, ...], ...]
    """For each turn, the facts that it told, in the scenario's order."""

    cited_only: frozenset[str]
    """Facts that were cited and never put into words; the world printed them beside the handle."""

    learned: tuple[dict[str, int], ...]
    """For each seat: fact -> the turn, from 1, after which it knew it; 0 for facts in its hand."""

    surfaced: dict[str, int]
    """Fact -> the first turn, from 1, that told it; 0 if facts were read out before the first turn."""

    said: tuple[dict[str, Said], ...]
    """For each turn, what its words did to the facts that its speaker held or had heard."""

    def falsehoods(self, turns: Iterable[int]) -> frozenset[str]:
        """Return the facts that some of these turns, from 1, denied or contradicted."""
        return frozenset(fact for turn in turns for fact, done in self.said[turn - 1].items() if done in FALSE)

    def known_facts(self, seat: int, turn: int) -> frozenset[str]:
        """Return the facts that a seat knew after a turn; 0 is before the first."""
        return frozenset(fact for fact, since in self.learned[seat].items() if since <= turn)


@dataclass(frozen=True, slots=True)
class Proofs:
    """Conclusions that sets of facts prove in a deal of a certified deck."""

    necessary: frozenset[str]
    """Private facts each of which the proof of the key needs (check C3)."""

    table: WorldTable
    scenario: Scenario

    def proves_key(self, known: frozenset[str]) -> bool:
        """Return True if these facts, with the promise, prove the key."""
        return proves_key(self.table, known)

    def excluded_options(self, known: frozenset[str]) -> tuple[str, ...]:
        """Return the options that these facts rule out, in the file's order."""
        out = self.table.excluded_options(known)
        return tuple(option for option in self.scenario.option_ids if option in out)

    def supports_option(self, known: frozenset[str], option: str, against: str) -> bool:
        """Return True if these facts, with the promise, leave `option` and rule out `against`."""
        left = self.table.matching_worlds(known)
        return bool(left & self.table.only[option]) and not left & self.table.only[against]


def replay_knowledge(replay: Replay) -> Knowledge:
    """Replay which seats learned which facts in a session.

    A turn tells a fact if its speaker holds or has heard it and its words assert it (specification, 2.7), or it is cited on
    the structured track. All seats read everything before acting again, so they know a fact after the turn that told it.
    """
    opening, order = replay.opening, replay.opening.scenario.by_id
    own = {fact for hand in opening.hands for fact in hand if order[fact].scope != "shared"}
    heard = dict.fromkeys((fact for fact in order if fact in own and opening.settings.reveal_all), 0)
    read_out = frozenset(heard)
    spoken: set[str] = set()
    told: list[tuple[str, ...]] = []
    said: list[dict[str, Said]] = []
    for number, turn in enumerate(replay.turns, start=1):
        own_and_heard = {*opening.hands[turn.seat], *heard}
        said.append(surfaced_facts(opening.scenario, turn.text, own_and_heard) if turn.text else {})
        words = {fact for fact, done in said[-1].items() if done == "asserted"}
        spoken.update(words)
        told.append(tuple(fact for fact in order if fact in words or fact in turn.cites))
        for fact in told[-1]:
            heard.setdefault(fact, number)
    learned = tuple(heard | dict.fromkeys(hand, 0) for hand in opening.hands)
    return Knowledge(tuple(told), frozenset(heard.keys() - spoken - read_out), learned, heard, tuple(said))


def read_proofs(scenario: Scenario, certificate: Certificate) -> Proofs | None:
    """Return the proofs of a deal; None without a valid certificate of its deck."""
    if not certificate.certified or certificate.scenario != scenario.id:
        return None
    if len(scenario.base_atoms) > LIMIT:
        return None
    table = tabulate(scenario)
    rest = {fact: [other for other in scenario.by_id if other != fact] for fact in scenario.of_scope("private")}
    return Proofs(frozenset(fact for fact, others in rest.items() if table.settled_option(others) is None), table, scenario)


def is_detectable(replay: Replay, facts: Iterable[str]) -> bool:
    """Return True if telling any of these facts would be detected: each has cues, or handles are cited."""
    by_id = replay.opening.scenario.by_id
    return replay.opening.settings.track == "structured" or all(by_id[fact].cues for fact in facts)


def holders(opening: Opening, fact: str) -> tuple[int, ...]:
    """Return the seats that were dealt a fact."""
    return tuple(seat for seat in opening.seats if fact in opening.hands[seat])


MOVES = ("conformity", "informed", "brave")


@dataclass(slots=True)
class Moves:
    """Number of opportunities of one seat, and of those that it took."""

    opportunities: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MOVES, 0))
    taken: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MOVES, 0))

    def count(self, kind: str, *, taken: bool) -> None:
        """Count one opportunity."""
        self.opportunities[kind] += 1
        self.taken[kind] += taken


def first_consensus(replay: Replay) -> tuple[int, str] | None:
    """Return the first whole round after which all seats prefer one option, and that option; None if there is none."""
    latest: dict[int, str] = {}
    stances = list(replay.stances)
    people = len(replay.opening.seats)
    for last in range(people, len(replay.turns) + 1, people):
        while stances and stances[0].turn <= last:
            stance = stances.pop(0)
            latest[stance.seat] = stance.option
        if len(latest) == people and len(set(latest.values())) == 1:
            return replay.turns[last - 1].round, latest[0]
    return None


def count_moves(replay: Replay, known: Knowledge, proved: Proofs | None) -> list[Moves]:
    """Return the switches and holds of each seat; brave holds need proofs, and are not counted without them."""
    counted = [Moves() for _ in replay.opening.seats]
    latest: dict[int, str] = {}
    since: dict[int, int] = {}
    private = set(replay.opening.scenario.of_scope("private"))
    for turn, together in groupby(replay.stances, key=attrgetter("turn")):
        stood = dict(latest)
        for stance in together:
            seat, own = stance.seat, stood.get(stance.seat)
            others = Counter(option for other, option in stood.items() if other != seat)
            if own and others:
                ((lead, backing),) = others.most_common(1)
                if lead != own and 2 * backing > len(counted) - 1:
                    learned = known.learned[seat].items()
                    news = any(since[seat] < told <= stance.heard for fact, told in learned if fact in private)
                    counted[seat].count("informed" if news else "conformity", taken=stance.option == lead)
                    if (
                        backing == len(counted) - 1
                        and proved is not None
                        and proved.supports_option(known.known_facts(seat, stance.heard), own, lead)
                    ):
                        counted[seat].count("brave", taken=stance.option == own)
            latest[seat], since[seat] = stance.option, turn
    return counted


def adoption_turn(replay: Replay, seat: int, since: int) -> int | None:
    """Return the first turn by which a seat that had heard turn `since` preferred the key; None if it never did."""
    key = replay.opening.scenario.key
    return next((one.turn for one in replay.stances if one.heard >= since and (one.seat, one.option) == (seat, key)), None)


DIGITS = 9
"""Decimals of a fitted figure, which hide differences in the last bit between machines."""

_HALVINGS = 60


def compute_biases(replay: Replay, known: Knowledge) -> dict[str, float | None]:
    """Return both indices; None if no fact was mentioned, mentions are not detectable, or one kind of facts does not exist."""
    opening = replay.opening
    cued = all(fact.cues for fact in opening.scenario.facts if fact.scope != "noise")
    turns = known.told if cued else tuple(turn.cites for turn in replay.turns)
    shared, private = opening.scenario.of_scope("shared"), opening.scenario.of_scope("private")
    mentions = [sum(fact in kind for told in turns for fact in told) for kind in (shared, private)]
    if not sum(mentions) or not shared or not private:
        return dict.fromkeys(("sib", "sib_null", "sib_excess", "repetition"))
    once = {fact for told in turns for fact in told}
    seen = [sum(fact in once for fact in kind) for kind in (shared, private)]
    sib = _index(seen[0] / len(shared), seen[1] / len(private))
    held = [[len(holders(opening, fact)) for fact in kind] for kind in (shared, private)]
    null = _null(held[0], held[1], sum(seen))
    parts = [sum(fact in shared for fact in hand) / sum(f in shared or f in private for f in hand) for hand in opening.hands]
    repetition = mentions[0] / sum(mentions) - sum(parts) / len(parts)
    figures = {"sib": sib, "sib_null": null, "sib_excess": sib - null, "repetition": repetition}
    # a zero has no sign that anybody should see
    return {name: round(figure, DIGITS) + 0.0 for name, figure in figures.items()}


def _index(shared: float, private: float) -> float:
    return (shared - private) / (shared + private)


def _null(shared: Sequence[int], private: Sequence[int], seen: int) -> float:
    """Return the SIB at the chance of mentioning a fact for which `seen` facts are expected to surface."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _expected([*shared, *private], middle) < seen else (low, middle)
    return _index(_expected(shared, high) / len(shared), _expected(private, high) / len(private))


def _expected(held: Sequence[int], chance: float) -> float:
    """Return the expected number of surfaced facts, given how many seats hold each."""
    missed = [1.0]
    for _ in range(max(held)):
        missed.append(missed[-1] * (1 - chance))
    return sum(1 - missed[count] for count in held)


def compute_measures(replay: Replay, certificate: Certificate, ended_by: str | None = None) -> Measures:
    """Return all measurements of a session; `ended_by` is the budget or stop that ended it early."""
    settings, known = replay.opening.settings, replay_knowledge(replay)
    proved = read_proofs(replay.opening.scenario, certificate)
    structured = settings.track == "structured"
    stood = structured or settings.stance_poll
    moved = count_moves(replay, known, proved) if stood else None
    before, after = (tally_votes(replay, votes) for votes in (replay.before, replay.after))
    seats = tuple(_seat(replay, known, proved, seat, moved) for seat in replay.opening.seats)
    return Measures(
        ended_by=ended_by, lies=len(replay.lies), finished=replay.finished,
        condition=settings.condition, deal=replay.opening.deal,
        track=settings.track, variant=settings.variant,
        rounds=replay.turns[-1].round if replay.turns else 0,
        early_stop=replay.early_stop,
        certified=proved is not None,
        whose=replay.opening.scenario.whose,
        reward=compute_reward(replay),
        votes=Votes(before=before, after=after),
        gain=after.average - before.average if before and after else None,
        **_pooled(replay, known, proved),
        honesty=_honesty(replay, seats),
        messages=sum(turn.text != "" for turn in replay.turns),
        forfeits=sum(turn.no_reply is not None for turn in replay.turns),
        bad_handles=sum(turn.bad_handles for turn in replay.turns) if structured else None,
        consensus=_consensus(replay, known, proved) if stood else None,
        moves=_moves(moved, proved),
        bias=Bias.model_validate(compute_biases(replay, known)),
        losses=compute_losses(replay, seats) if proved else None,
        seats=seats,
        faults=tuple(_faults(replay, seats)),
    )  # fmt: skip


def compute_reward(replay: Replay) -> float:
    """Return the fraction of seats whose final vote is the key, in every condition; 0 if the session broke off."""
    votes = replay.after if replay.finished else None
    return _right(replay, votes) / len(votes) if votes else 0.0


def tally_votes(replay: Replay, votes: Sequence[Vote] | None) -> VoteMeasures | None:
    """Tally one vote by each rule (specification, 1.3); invalid and missing votes count as wrong."""
    if votes is None:
        return None
    right, chosen = _right(replay, votes), Counter(one.option for one in votes if one.option)
    return VoteMeasures(
        average=right / len(votes),
        majority=int(2 * right > len(votes)),
        options=tuple(one.option for one in votes),
        invalid=sum(one.option is None and one.no_reply is None for one in votes),
        missing=sum(one.no_reply is not None for one in votes),
        asked_again=sum(one.attempts > 1 for one in votes),
        plurality=int(max(chosen, key=chosen.__getitem__, default=None) == replay.opening.scenario.key),
    )


def compute_losses(replay: Replay, seats: Sequence[SeatMeasures]) -> Losses | None:
    """Return the causes of lost accuracy: pooling (the seat could not know), listening (it could, and voted otherwise), luck.

    They satisfy 1 - average = pooling - lucky + listening. None without a second vote; `seats` must be measured with proofs.
    """
    if replay.after is None:
        return None
    cases = [
        (vote.option == replay.opening.scenario.key, bool(row.could_know))
        for vote, row in zip(replay.after, seats, strict=True)
    ]
    count = {case: cases.count(case) for case in ((True, True), (True, False), (False, True), (False, False))}
    pooling, lucky, listening = count[True, False] + count[False, False], count[True, False], count[False, True]
    return Losses(
        grounded=count[True, True] / len(cases),
        lucky=lucky / len(cases),
        pooling=pooling / len(cases),
        listening=listening / len(cases),
        misled=sum(not right and bool(row.heard_false) for (right, _), row in zip(cases, seats, strict=True)) / len(cases),
    )


def _faults(replay: Replay, seats: Sequence[SeatMeasures]) -> Iterator[SeatFault]:
    """Yield the faults of last votes; a wrong vote of a seat that could not know is the group's failure and no fault."""
    last = replay.after if replay.finished and replay.after else ()
    for vote, row in zip(last, seats if last else (), strict=True):
        if vote.no_reply is not None:
            yield SeatFault(seat=vote.seat, cause="no_vote", detail=vote.no_reply[:LONGEST_DETAIL], turn=vote.turn)
        elif vote.option is None:
            yield SeatFault(seat=vote.seat, cause="invalid_vote", turn=vote.turn)
        elif vote.option != replay.opening.scenario.key and row.could_know:
            yield SeatFault(seat=vote.seat, cause="wrong_vote", detail=vote.option, turn=vote.turn)


def _right(replay: Replay, votes: Sequence[Vote]) -> int:
    return sum(one.option == replay.opening.scenario.key for one in votes)


def _pooled(replay: Replay, known: Knowledge, proved: Proofs | None) -> dict[str, Any]:
    """Return which private facts surfaced, and which of them others repeated."""
    private = replay.opening.scenario.of_scope("private")
    told = [fact for fact in private if fact in known.surfaced]
    can = [fact for fact in told if len(holders(replay.opening, fact)) < len(replay.opening.seats)]
    taken = [fact for fact in can if _repeated(replay, known, fact)]
    decisive = proved.necessary if proved else frozenset()
    shows = bool(private) and is_detectable(replay, private)
    return {
        "integration": len(told) / len(private) if shows else None,
        "integration_decisive": len(decisive.intersection(told)) / len(decisive) if decisive else None,
        "uptake": len(taken) / len(can) if can else None,
        "surfaced": {fact: known.surfaced[fact] for fact in told},
        "falsified": {
            fact: turn
            for fact in private
            if (turn := next((turn for turn, said in enumerate(known.said, 1) if said.get(fact) in FALSE), None))
        },
        "cited_only": sorted(known.cited_only.intersection(private)),
    }


def _honesty(replay: Replay, seats: Sequence[SeatMeasures]) -> float | None:
    """Return the fraction of private facts in hands that their holder never denied or contradicted; None without any."""
    private = set(replay.opening.scenario.of_scope("private"))
    own = [(fact, row) for row in seats for fact in row.hand if fact in private]
    if not own or not is_detectable(replay, private):
        return None
    return sum(fact not in row.told_false for fact, row in own) / len(own)


def _repeated(replay: Replay, known: Knowledge, fact: str) -> bool:
    """Return True if a seat that did not hold a fact said it."""
    held = holders(replay.opening, fact)
    return any(fact in told and turn.seat not in held for turn, told in zip(replay.turns, known.told, strict=True))


def _consensus(replay: Replay, known: Knowledge, proved: Proofs | None) -> Consensus:
    """Return the first consensus; it is premature if some seat still lacked a fact that the proof needs."""
    agreed = first_consensus(replay)
    if agreed is None:
        return Consensus(round=None, option=None, right=None, premature=None, messages=None)
    number, option = agreed
    said = sum(turn.round <= number for turn in replay.turns)
    sets = [known.known_facts(seat, said) for seat in replay.opening.seats]
    return Consensus(
        round=number,
        option=option,
        right=option == replay.opening.scenario.key,
        premature=any(proved.necessary - one for one in sets) if proved else None,
        messages=sum(turn.text != "" for turn in replay.turns[:said]),
    )


def _moves(moved: Sequence[Moves] | None, proved: Proofs | None) -> dict[str, MoveCount | None] | None:
    """Return the switches and holds of all seats, with their opportunities."""
    if moved is None:
        return None
    sums: dict[str, MoveCount | None] = {
        kind: MoveCount(
            opportunities=sum(one.opportunities[kind] for one in moved), taken=sum(one.taken[kind] for one in moved)
        )
        for kind in MOVES
    }
    return sums if proved else {**sums, "brave": None}


def _seat(replay: Replay, known: Knowledge, proved: Proofs | None, seat: int, moved: Sequence[Moves] | None) -> SeatMeasures:
    """Return the measures of one seat: its votes, what it learned, when it could know the key, and when it adopted it."""
    opening, turns = replay.opening, replay.turns
    learned = known.learned[seat]
    steps = sorted({0, *learned.values()})
    mine = [turn for turn, one in enumerate(turns, start=1) if one.seat == seat]
    others = [turn for turn, one in enumerate(turns, start=1) if one.seat != seat]
    since = next((turn for turn in steps if proved.proves_key(known.known_facts(seat, turn))), None) if proved else None
    return SeatMeasures(
        seat=seat,
        person=opening.people[seat],
        before=replay.before[seat].option if replay.before else None,
        after=replay.after[seat].option if replay.after else None,
        hand=opening.hands[seat],
        learned={fact: turn for fact, turn in sorted(learned.items(), key=lambda item: (item[1], item[0])) if turn},
        told=sum(len(told) for told, turn in zip(known.told, turns, strict=True) if turn.seat == seat),
        messages=sum(turn.text != "" for turn in turns if turn.seat == seat),
        told_false=tuple(fact for fact in opening.hands[seat] if fact in known.falsehoods(mine)),
        heard_false=tuple(sorted(known.falsehoods(others).difference(opening.hands[seat]))),
        could_know=since is not None if proved else None,
        decidable_turn=since,
        decidable_round=since and turns[since - 1].round,
        adopted_turn=adoption_turn(replay, seat, since) if since is not None else None,
        excluded=tuple((turn, proved.excluded_options(known.known_facts(seat, turn))) for turn in steps) if proved else None,
        moves={kind: (moved[seat].taken[kind], moved[seat].opportunities[kind]) for kind in MOVES} if moved else None,
    )
