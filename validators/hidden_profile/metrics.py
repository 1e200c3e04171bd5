"""The measures of one session, ready for JSON: votes, what was pooled, consensus, who gave way, biases, and where it was lost.

Ypre and Ypost of the paper are `votes.before.average` and `votes.after.average` in the condition hidden, Yfull is the first in
full. None stands for what was not measured: proofs without a certificate, stances that were neither said nor polled, facts
without cues, a vote that was not held. `losses` satisfies 1 - average = pooling - lucky + listening exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from validators.hidden_profile.bias import biases
from validators.hidden_profile.history import Replay, Vote
from validators.hidden_profile.knowledge import Knowledge, Proofs, detectable, holders, knowledge, proofs
from validators.hidden_profile.stances import MOVES, Moves, adopted, first_consensus, moves
from worlds.core.faults import LONGEST_DETAIL, SeatFault
from worlds.hidden_profile.rules.certificate import Certificate
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


def measures(replay: Replay, certificate: Certificate, ended_by: str | None = None) -> Measures:
    """Everything that is measured of a session; `ended_by` is the budget or stop that cut it short."""
    settings, known = replay.opening.settings, knowledge(replay)
    proved = proofs(replay.opening.scenario, certificate)
    structured = settings.track == "structured"
    stood = structured or settings.stance_poll
    moved = moves(replay, known, proved) if stood else None
    before, after = (tally(replay, votes) for votes in (replay.before, replay.after))
    seats = tuple(_seat(replay, known, proved, seat, moved) for seat in replay.opening.seats)
    return Measures(
        ended_by=ended_by, lies=len(replay.lies), finished=replay.finished,
        condition=settings.condition, deal=replay.opening.deal.kind if replay.opening.deal else None,
        track=settings.track, variant=settings.variant,
        rounds=replay.turns[-1].round if replay.turns else 0,
        early_stop=replay.early_stop,
        certified=proved is not None,
        whose=replay.opening.scenario.whose,
        reward=reward(replay),
        votes=Votes(before=before, after=after),
        gain=after.average - before.average if before and after else None,
        **_pooled(replay, known, proved),
        messages=sum(turn.text != "" for turn in replay.turns),
        forfeits=sum(turn.no_reply is not None for turn in replay.turns),
        bad_handles=sum(turn.bad_handles for turn in replay.turns) if structured else None,
        consensus=_consensus(replay, known, proved) if stood else None,
        moves=_moves(moved, proved),
        bias=Bias.model_validate(biases(replay, known)),
        losses=losses(replay, seats) if proved else None,
        seats=seats,
        faults=tuple(_faults(replay, seats)),
    )  # fmt: skip


def reward(replay: Replay) -> float:
    """The share of seats whose final vote is the key, in every condition; 0 where the session broke off."""
    votes = replay.after if replay.finished else None
    return _right(replay, votes) / len(votes) if votes else 0.0


def tally(replay: Replay, votes: Sequence[Vote] | None) -> VoteMeasures | None:
    """One vote by the average and the majority rule (specification, 1.3); invalid and missing votes count as wrong."""
    if votes is None:
        return None
    right = _right(replay, votes)
    return VoteMeasures(
        average=right / len(votes),
        majority=int(2 * right > len(votes)),
        options=tuple(one.option for one in votes),
        invalid=sum(one.option is None and one.no_reply is None for one in votes),
        missing=sum(one.no_reply is not None for one in votes),
        asked_again=sum(one.attempts > 1 for one in votes),
    )


def losses(replay: Replay, seats: Sequence[SeatMeasures]) -> Losses | None:
    """Where accuracy was lost: pooling (the seat could not know), listening (it could, and voted otherwise), and luck.

    They add up: 1 - average = pooling - lucky + listening. None without a second vote; `seats` are measured with proofs.
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
    )


def _faults(replay: Replay, seats: Sequence[SeatMeasures]) -> Iterator[SeatFault]:
    """Yield the last votes that failed by their own seat; a wrong vote of a seat that could not know is the group's failure."""
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
    """Which private facts came to light, and which of them others took up."""
    private = replay.opening.scenario.of_scope("private")
    told = [fact for fact in private if fact in known.surfaced]
    can = [fact for fact in told if len(holders(replay.opening, fact)) < len(replay.opening.seats)]
    taken = [fact for fact in can if _repeated(replay, known, fact)]
    decisive = proved.necessary if proved else frozenset()
    shows = bool(private) and detectable(replay, private)
    return {
        "integration": len(told) / len(private) if shows else None,
        "integration_decisive": len(decisive.intersection(told)) / len(decisive) if decisive else None,
        "uptake": len(taken) / len(can) if can else None,
        "surfaced": {fact: known.surfaced[fact] for fact in told},
        "cited_only": sorted(known.cited_only.intersection(private)),
    }


def _repeated(replay: Replay, known: Knowledge, fact: str) -> bool:
    """Whether somebody who did not hold a fact said it."""
    held = holders(replay.opening, fact)
    return any(fact in told and turn.seat not in held for turn, told in zip(replay.turns, known.told, strict=True))


def _consensus(replay: Replay, known: Knowledge, proved: Proofs | None) -> Consensus:
    """The first consensus; it is premature where some seat still lacked a fact that the proof needs."""
    agreed = first_consensus(replay)
    if agreed is None:
        return Consensus(round=None, option=None, right=None, premature=None, messages=None)
    number, option = agreed
    said = sum(turn.round <= number for turn in replay.turns)
    sets = [known.known(seat, said) for seat in replay.opening.seats]
    return Consensus(
        round=number,
        option=option,
        right=option == replay.opening.scenario.key,
        premature=any(proved.necessary - one for one in sets) if proved else None,
        messages=sum(turn.text != "" for turn in replay.turns[:said]),
    )


def _moves(moved: Sequence[Moves] | None, proved: Proofs | None) -> dict[str, MoveCount | None] | None:
    """Switches and holds over all seats, with their opportunities."""
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
    """One seat: its votes, what it learned when, from which turn on the key was decidable for it, and when it took it up."""
    opening, turns = replay.opening, replay.turns
    learned = known.learned[seat]
    steps = sorted({0, *learned.values()})
    since = next((turn for turn in steps if proved.entails(known.known(seat, turn))), None) if proved else None
    return SeatMeasures(
        seat=seat,
        person=opening.people[seat],
        before=replay.before[seat].option if replay.before else None,
        after=replay.after[seat].option if replay.after else None,
        hand=opening.hands[seat],
        learned={fact: turn for fact, turn in sorted(learned.items(), key=lambda item: (item[1], item[0])) if turn},
        told=sum(len(told) for told, turn in zip(known.told, turns, strict=True) if turn.seat == seat),
        messages=sum(turn.text != "" for turn in turns if turn.seat == seat),
        could_know=since is not None if proved else None,
        decidable_turn=since,
        decidable_round=since and turns[since - 1].round,
        adopted_turn=adopted(replay, seat, since) if since is not None else None,
        excluded=tuple((turn, proved.excluded(known.known(seat, turn))) for turn in steps) if proved else None,
        moves={kind: (moved[seat].taken[kind], moved[seat].opportunities[kind]) for kind in MOVES} if moved else None,
    )
