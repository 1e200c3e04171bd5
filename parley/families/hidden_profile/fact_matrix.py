"""`harness show TASK --matrix`: the people who have each fact, and its effect on each option (paper, Table 1).

For a deck: every text of every card, the deals with the right option of each, and the information in each hand (check C9). For
a scenario with one deal: the people who have each fact, and the weights of its impressions if there are any.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.errors import UsageError
from harness.registry import Task
from oracles.hidden_profile.decks import MAX_INFORMEDNESS
from parley.reports.table import Column, Row, Table, titled
from worlds.hidden_profile.rules.certificate import Certificate
from worlds.hidden_profile.rules.deck import Card, Deck, read_task
from worlds.hidden_profile.rules.scenario import Fact, Frame, Scenario, Words


def matrix(task: Task) -> list[Table]:
    """Return the tables of a task. Raises UsageError if it has no scenario or no certificate."""
    try:
        read = read_task(task.world_folder / "scenario.json")
        certificate = Certificate.model_validate_json((task.path / "tests" / "oracle.json").read_bytes())
    except (OSError, ValueError) as error:
        # do not trust the file, because it may not have been written by `harness sync`
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UsageError(f"{task.task_id} has no matrix: {why}", hint=f"harness sync {task.task_id}") from None
    if isinstance(read, Deck):
        return [make(read, certificate) for make in (_cards, _deals, _tells, *((_sizes,) if certificate.sizes else ()))]
    return [_facts(read, certificate)]


def _cards(deck: Deck, certificate: Certificate) -> Table:
    columns = (Column("card", "Card"), *_seats(deck), *_options(deck, {}), *titled(asserts="Asserts", text="Text"))
    rows = tuple(row for card in deck.cards for row in _versions(deck, card))
    notes = (f"{deck.mechanism}, certified: {certificate.certified}; a deal draws a text of each card, and who has which hand",)
    return Table("cards", f"{deck.title} ({deck.domain})", columns, rows, notes)


def _versions(deck: Deck, card: Card) -> Iterator[Row]:
    for number, words in enumerate(card.texts):
        identity = f"{card.id}.{number}" if len(card.texts) > 1 else card.id
        yield {"card": identity, "asserts": ", ".join(words.asserts) or None, **_row(deck, card, words)}


def _deals(deck: Deck, certificate: Certificate) -> Table:
    versions = f"Texts of {' '.join(certificate.open)}"
    columns = titled(kind="Kind", versions=versions, key="Key", leader="Leader", necessary="Necessary")
    shown = {column.key for column in columns}
    rows = tuple({**row.model_dump(include=shown), "necessary": " ".join(row.necessary)} for row in certificate.deals)
    notes = ("necessary: without this card the right option is not proved",)
    return Table("deals", f"Deals of {deck.title}", columns, rows, notes)


def _tells(deck: Deck, certificate: Certificate) -> Table:
    columns = (Column("seat", "Hand"), *titled("number", informed="(a) J", hidden="(b) hidden keys"))
    rows = tuple(row.model_dump(include={"seat", "informed", "hidden"}) for row in certificate.tells)
    count = max(len(certificate.keys), 1)
    limits = f"{float(MAX_INFORMEDNESS):.2f}, and 1/{count} + .10 of hidden keys"
    notes: tuple[str, ...] = (f"best score of any rule that uses one hand; bounds: {limits}",)
    if not certificate.sizes:
        notes += (f"only for {deck.agents} people: with any other number of hands a check fails",)
    return Table("tells", f"What one hand tells (C9), {deck.title}", columns, rows, notes)


def _sizes(deck: Deck, certificate: Certificate) -> Table:
    columns = (*titled(people="People", hands="Hands"), *titled("number", informed="(a) J", hidden="(b) hidden keys"))
    rows = tuple(
        {**row.model_dump(include={"people", "informed", "hidden"}), "hands": " | ".join(map(" ".join, row.hands))}
        for row in certificate.sizes
    )
    notes = (f"numbers other than {deck.agents}; scores are of the most revealing hand; to play: harness run --set size=N",)
    return Table("sizes", f"For how many people {deck.title} can be dealt", columns, rows, notes)


def _facts(scenario: Scenario, certificate: Certificate) -> Table:
    columns = (
        Column("fact", "Fact"),
        *_seats(scenario),
        *_options(scenario, {scenario.key: " (key)", scenario.decoy or "": " (decoy)"}),
        Column("text", "Text"),
    )
    rows = tuple({"fact": fact.id, **_row(scenario, fact, fact)} for fact in scenario.facts)
    notes = (f"certified: {certificate.certified}; who is dealt which hand is drawn",)
    return Table("matrix", f"{scenario.title} ({scenario.domain})", columns, rows, notes)


def _seats(frame: Frame) -> tuple[Column, ...]:
    return tuple(Column(f"seat{seat}", f"Hand {seat}") for seat in frame.seats)


def _options(frame: Frame, roles: dict[str, str]) -> tuple[Column, ...]:
    return tuple(Column(choice.id, f"{choice.label}{roles.get(choice.id, '')}") for choice in frame.options)


def _row(frame: Frame, held: Card | Fact, words: Words) -> Row:
    """Return the people who hold a card or a fact, and the effect of its text on each option."""
    holders = frame.seats if held.scope == "shared" else held.holders
    weights = {option: f"{weight:+d}" for option, weight in words.weights.items()}
    return {**{f"seat{seat}": "x" for seat in holders}, **weights, "text": words.text}
