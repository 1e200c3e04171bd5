"""Talk rebuilt: what each seat said in its turn, what that rested on, where it stands, and when nothing moves any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from validators.hidden_profile.history import Spoken
from validators.hidden_profile.reading import plain
from validators.hidden_profile.sight import look_at_turn
from validators.hidden_profile.table import Table
from worlds.core.events import Turned
from worlds.hidden_profile.rules.ballot import option_of

HANDLE = 40
"""Characters that a note keeps of a handle."""


@dataclass(frozen=True, slots=True)
class _Message:
    text: str
    cites: list[str]
    stance: str | None
    bad: list[str] | None
    """Handles that were dropped; None where only the notes tell them."""


def talk(table: Table) -> None:
    """Follow all rounds; raises Unanswered where the log ends in them, Lost where they cannot be followed."""
    for number in range(1, table.opening.settings.rounds + 1):
        table.last_round = len(table.messages)
        before, heard = dict(table.stances), len(table.public)
        for seat in table.opening.seats:
            table.barrier += 1
            turn = table.tape.turn(seat, "DISCUSSION", number)
            table.named(turn)
            look_at_turn(table, turn)
            _say(table, turn, number)
        agreed = len(table.stances) == len(table.opening.seats) and len(set(table.stances.values())) == 1
        still = agreed and before == table.stances and heard == len(table.public)
        if still and table.opening.settings.early_stop:
            table.tape.exactly("early_stop", None, {"round": number})
            table.early_stop = number
            return


def _say(table: Table, turn: Turned, number: int) -> None:
    seat, known = turn.seat, set(table.handles(turn.seat))
    said = _read(table, turn) or _mended(table, turn)
    data = {"round": number, "text": said.text, "cites": said.cites, "stance": said.stance, "no_reply": turn.no_reply}
    table.tape.exactly("message", seat, data)
    bad = _dropped(table, seat, number, known) if said.bad is None else said.bad
    for handle in said.bad or ():
        table.tape.exactly("bad_handle", seat, {"round": number, "handle": handle})
    reached = turn.no_reply is None and said.text != ""
    if reached:
        table.messages.append((seat, said.text + table.publish(said.cites)))
    if said.stance:
        table.stances[seat] = said.stance
    table.heard_own(seat, turn.reply, said.text)
    text, cites = (said.text, tuple(said.cites)) if reached else ("", ())
    table.turns.append(Spoken(seat, number, text, cites, said.stance, len(bad), turn.no_reply))


def _read(table: Table, turn: Turned) -> _Message | None:
    """A message whose reply means the same to everybody; None for a reply that the world had to mend."""
    prose = _Message(turn.reply.strip(), [], None, [])
    if table.opening.settings.track == "free":
        return prose
    said = plain(turn.reply)
    if not said.sure:
        return None
    if not isinstance(said.value, dict):
        return prose
    cites, bad = _cited(table.handles(turn.seat), said.value.get("cites"))
    text, stance = said.value.get("text"), said.value.get("stance")
    option = option_of(table.opening.scenario, stance) if isinstance(stance, str) else None
    return _Message(text.strip() if isinstance(text, str) else "", cites, option, bad)


def _cited(known: dict[str, str], given: Any) -> tuple[list[str], list[str]]:
    """The facts behind the handles of a reply, each once, and the handles that its seat does not know."""
    handles = [handle for handle in given if isinstance(handle, str)] if isinstance(given, list) else []
    cites = list(dict.fromkeys(known[handle] for handle in handles if handle in known))
    return cites, [handle[:HANDLE] for handle in handles if handle not in known]


def _mended(table: Table, turn: Turned) -> _Message:
    """What the note ahead says of a reply that the world had to mend, as far as it can be true."""
    told = table.tape.ahead if table.tape.is_next("message", turn.seat) else {}
    text, cites, stance = told.get("text"), told.get("cites"), told.get("stance")
    known = set(table.handles(turn.seat).values())
    facts = [fact for fact in cites if isinstance(fact, str) and fact in known] if isinstance(cites, list) else []
    option = stance if isinstance(stance, str) and stance in table.opening.options else None
    return _Message(text.strip() if isinstance(text, str) else "", list(dict.fromkeys(facts)), option, None)


def _dropped(table: Table, seat: int, number: int, known: set[str]) -> Sequence[str]:
    """The notes of dropped handles that follow a mended reply: how many there were, only they tell."""
    bad: list[str] = []
    while table.tape.is_next("bad_handle", seat):
        handle = table.tape.ahead.get("handle")
        text = handle[:HANDLE] if isinstance(handle, str) else ""
        note = table.tape.exactly("bad_handle", seat, {"round": number, "handle": text})
        if text in known:
            table.tape.lie(note, f"seat {seat} knows the handle {text}")
        bad.append(text)
    return bad
