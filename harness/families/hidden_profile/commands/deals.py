"""`harness generate deals`: the deals of a deck that an author has written, and what still speaks against it.

Authors write cards. Which texts go together in a deal is found (`oracles.hidden_profile.dealing`), written into the file, and
proved by somebody else: the checks of `harness verify` are printed, those that fail with their reasons.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from harness.console import emit, say, show_table
from harness.errors import GateFailed, UsageError
from harness.registry import discover, select, tasks_root
from oracles.hidden_profile.dealing import MOST_DEALS, find_deals, refused
from oracles.hidden_profile.decks import DeckProof, prove_deck
from oracles.hidden_profile.tells import tells
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import CUES, DECK, Deck, with_cues
from worlds.hidden_profile.rules.draws import Draws
from worlds.hidden_profile.rules.scenario import first_of

What = Annotated[str, typer.Argument(help="A task, or the path of a scenario.json; it may lack deals.", metavar="TASK|FILE")]
Most = Annotated[int, typer.Option(min=4, max=99, help="Deals of each kind, at most.")]
Keep = Annotated[bool, typer.Option("--keep", help="Check the deals that the file has, and write nothing.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def generate_deals(ctx: typer.Context, what: What, most: Most = MOST_DEALS, keep: Keep = False, json: Json = False) -> None:
    """The deals of a deck on which no hand tells the key."""
    path = Path(what) if what.endswith(".json") else _file_of(ctx.obj["tasks"], what)
    deck = read_draft(path)
    try:
        dealt = deck if keep else deck.model_copy(update={"deals": find_deals(deck, most)})
        proof = prove_deck(dealt)
    except ValueError as error:
        say("\n".join(f"{count} choices of texts: {reason}" for reason, count in refused(deck).most_common()))
        raise GateFailed(f"{path}: {error}") from None
    if not keep:
        path.write_text(dealt.to_json(with_cues=not path.with_name(CUES).exists()), encoding="utf-8")
    _show(dealt, proof, json=json)
    if not proof.certified:
        raise GateFailed(f"{path}: {', '.join(proof.failed)} fail")
    say(f"{path}: certified; a task's other files follow it by harness sync, and harness verify proves the whole")


def _file_of(tasks: Path | None, name: str) -> Path:
    chosen = select(discover(tasks_root(tasks)), [name])
    if len(chosen) != 1:
        raise UsageError(f"{name} means {len(chosen)} tasks, and deals are found for one")
    return chosen[0].world_folder / SCENARIO


def _show(deck: Deck, proof: DeckProof, *, json: bool) -> None:
    """What a hand tells, and the checks."""
    known = tells(Draws(deck))
    if json:
        told = [{"seat": tell.seat, "informed": float(tell.informed), "hidden": float(tell.hidden)} for tell in known]
        checks = [check.model_dump() for check in proof.checks]
        emit({"id": deck.id, "deals": deck.deals.model_dump(), "tells": told, "checks": checks})
        return
    hands = [[tell.seat, f"{float(tell.informed):.3f}", f"{float(tell.hidden):.3f}"] for tell in known]
    show_table(["hand", "(a) J", "(b) hidden keys"], hands)
    show_table(["check", "holds", "why not"], [[one.name, "yes" if one.ok else "NO", one.detail] for one in proof.checks])


def read_draft(path: Path) -> Deck:
    """A deck, with the cues beside it, whose file may lack its deals; raises UsageError for a missing file, or no deck."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if document.get("schema") != DECK:
            raise UsageError(f"{path} has the schema {document.get('schema')!r}, and only {DECK} has deals")
        nought = "0" * sum(len(card["texts"]) > 1 for card in document["cards"])
        return with_cues(Deck.model_validate({"deals": {"hidden": [nought], "manifest": [nought]}} | document), path)
    except ValidationError as error:
        raise UsageError(f"{path}: {first_of(error)}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is no deck: {type(error).__name__}: {error}") from None
