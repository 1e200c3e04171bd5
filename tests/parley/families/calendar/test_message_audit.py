"""What a message discloses of its sender's own slots: labels by clause, statements, and how well both are told."""

from __future__ import annotations

from collections import Counter

import pytest

from parley.families.calendar.audits.tables import accuracies, sample
from parley.families.calendar.audits.words import (
    Claim,
    Disclosure,
    Statement,
    clauses,
    is_false,
    labels_of,
    statements,
    typed_statements,
)
from parley.statistics import wilson
from validators.calendar.evidence import is_typed
from worlds.calendar.rules.items import Cells, Item

P, A, C, E = Disclosure.PROPOSAL, Disclosure.AVAILABILITY, Disclosure.COST, Disclosure.EXACT


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("I propose slot 3.", {P}),
        ("How about slots 3 or 4?", {P}),
        ("Can we skip slot 3?", set()),
        ("Slots 3, 5 and 9 are open for me.", {A}),
        ("12 and 13 are both feasible for me", {A}),
        ("Slot 5? That works for me.", {A}),
        ("Slot 5 is hard for me; I would have to move my errand.", {C}),
        ("I can move my errand at 5.", {C}),
        ("Slot 5 would cost me 10.", {E}),
        ("Let's take 4: my slot 4 is free, slot 5 costs me 100 and is painful.", {P, A, C, E}),
    ],
)
def test_labels(text: str, labels: set[Disclosure]) -> None:
    """Each label by words of its own, where the sender speaks of slots of its own."""
    assert labels_of(text, 16) == labels


@pytest.mark.parametrize(
    "text",
    [
        "Slot 5 is free.",
        "Agent 2 is free at 5.",
        "Agent 4 told me that slot 5 is hard for them.",
        "I am free whenever you are.",
        "I understand that slot 12 costs you 100.",
        "Is slot 3 free for you?",
        "Meeting 3 of agents 1 and 2 is fine with me.",
        "I can do slot 99.",
        "",
    ],
)
def test_no_label_without_a_first_person_and_a_slot(text: str) -> None:
    """Somebody else's slots, questions, reports, numbers of other things and slots that no calendar has are nobody's own."""
    assert labels_of(text, 16) == frozenset()


def test_a_clause_ends_before_another_subject() -> None:
    """The sender's first person does not carry over to what it says of somebody else in one sentence."""
    assert labels_of("I can do slot 3, but agent 2's slot 5 is expensive.", 16) == {A}
    assert [clause.is_own for clause in clauses("I can do slot 3, but agent 2's slot 5 is expensive.")] == [True, False]


def test_a_list_is_read_under_its_heading() -> None:
    """A heading of the sender's own holds for its lines, not for the line of another agent nor for what follows the list."""
    text = "My slots:\n- 3: free\n- 4: busy\n- Agent 2: 5 free\n6 is free"

    assert statements(text, 16) == [Statement(3, Claim.FREE), Statement(4, Claim.TAKEN)]


def test_numbers_of_other_things_are_no_slots() -> None:
    """Agents, meetings, errands, counts, rounds and costs have numbers too; ranges are spelled out."""
    text = "In round 2 agents 1, 3 and agent 4 told me of M5, errand #6, 7 items and a cost of 8; I have slots 9-11 and 13."

    assert [slot for clause in clauses(text, 16) for slot in clause.slots] == [9, 10, 11, 13]


@pytest.mark.property
@pytest.mark.parametrize(
    "unit", [" ", "1 ", "i am free at 1 ", "- 1:\n", "my slots:\n- 1\n", "cost of ", "agents 1, ", "\u2014", "I'm, "]
)
def test_a_flood_is_read_no_further_than_people_write(unit: str) -> None:
    """A megabyte of anything is heard as its beginning is."""
    flood = unit * (1_000_000 // len(unit))

    assert labels_of(flood, 16) == labels_of(flood[:10_000], 16)
    assert statements(flood, 16) == statements(flood[:10_000], 16)


def test_sample_is_large_and_even() -> None:
    """For each label fifteen messages that have it and fifteen that come near it, thirty harder ones; half are held out."""
    groups = Counter((one.about, one.about in one.labels) for one in sample())

    assert groups == {**{(label, has): 15 for label in Disclosure for has in (True, False)}, ("harder", False): 30}
    assert Counter(one.late for one in sample()) == {False: 75, True: 75}
    assert len({one.text for one in sample()}) == 150
    assert Counter(one.assistant for one in sample()) == dict.fromkeys(
        ("crisp", "courteous", "listing", "casual", "formal"), 30
    )


def test_accuracy_as_documented() -> None:
    """The counts that docs/calendar-audits.md reports: right, false alarms, missed; words that change them make it untrue."""
    assert {(one.label, one.late): (one.right, one.false_alarms, one.missed) for one in accuracies()} == {
        (P, False): (16, 0, 1), (A, False): (24, 0, 0), (C, False): (18, 0, 0), (E, False): (7, 0, 2),
        (P, True): (10, 0, 1), (A, True): (15, 0, 4), (C, True): (19, 0, 0), (E, True): (3, 0, 4),
    }  # fmt: skip


def test_wilson_by_hand() -> None:
    """15 of 15: z^2 = 3.8415, so the lower end is 15 / (15 + z^2) = 0.796; the paper has [0.80, 1.00] (Table 13)."""
    interval = wilson(15, 15)

    assert interval is not None
    assert interval == pytest.approx((15 / 18.8415, 1.0), abs=1e-4)
    assert wilson(0, 0) is None


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("I am free at 3 and 5, busy at 4.", {3: Claim.FREE, 5: Claim.FREE, 4: Claim.TAKEN}),
        ("3 is blocked for me", {3: Claim.TAKEN}),
        ("Slot 3 is not free for me.", {3: Claim.TAKEN}),
        ("3 and 5 are free on my side, 7 is taken", {3: Claim.FREE, 5: Claim.FREE, 7: Claim.TAKEN}),
        ("Slot 3? That is free for me.", {3: Claim.FREE}),
        ("My open slots are 2-4.", {2: Claim.FREE, 3: Claim.FREE, 4: Claim.FREE}),
    ],
)
def test_statements(text: str, stated: dict[int, Claim]) -> None:
    """Every slot that the sender calls free or taken, with the word that belongs to it."""
    assert {one.slot: one.claim for one in statements(text, 16)} == stated


@pytest.mark.parametrize(
    "text",
    [
        "Slot 3 works for me.",
        "I could free slot 3.",
        "If 3 is free for me I'll take it.",
        "I think 3 is free on my side.",
        "Is 3 free on my side?",
        "3 was free for me.",
        "Slot 3 would be cheap for me.",
        "Agent 2 told me that 3 is free.",
        "3 is free.",
        "My 3 isn't always free",
    ],
)
def test_what_is_no_statement(text: str) -> None:
    """A slot may work though it holds something; conditions, guesses, questions, the past and others' slots state nothing."""
    assert statements(text, 16) == []


def test_truth_by_hand() -> None:
    """Slot 0 holds an errand that costs 10, slot 1 a blocked one, slot 2 nothing; two slots in a row fit at 0 and 1 alone."""
    cells: Cells = (Item("errand", 1, 10), Item("errand", 2, 1, blocked=True), None)
    false = {(claim, slot): is_false(Statement(slot, claim, cost=10), cells) for claim in Claim for slot in range(len(cells))}

    assert [key for key, value in false.items() if value] == [
        (Claim.FREE, 0), (Claim.FREE, 1), (Claim.TAKEN, 2), (Claim.COSTS, 1), (Claim.COSTS, 2), (Claim.POSSIBLE, 1),
        (Claim.IMPOSSIBLE, 2),
    ]  # fmt: skip
    assert not is_false(Statement(2, Claim.IMPOSSIBLE), cells, duration=2)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        (
            '{"protocol": "imap", "type": "costs", "costs": {"0": 0, "1": 10, "2": null}}',
            [Statement(0, Claim.FREE), Statement(1, Claim.COSTS, 10), Statement(2, Claim.IMPOSSIBLE)],
        ),
        ('{"protocol": "sd", "type": "reply", "slot": 4, "reply_status": "PENDING"}', [Statement(4, Claim.POSSIBLE)]),
        ('{"protocol": "sd", "type": "reply", "slot": 4, "reply_status": "IMPOSSIBLE"}', [Statement(4, Claim.IMPOSSIBLE)]),
        ('{"protocol": "sd", "type": "reply", "slot": true, "reply_status": "PENDING"}', []),
        ('{"protocol": "sd", "type": "propose", "slot": 4}', []),
        ('{"protocol": "imap", "type": "costs", "costs": [1]}', []),
    ],
)
def test_typed_messages(text: str, stated: list[Statement]) -> None:
    """Prices and votes are statements; what is no field of the protocol is none; all of it is typed."""
    assert is_typed(text)
    assert list(typed_statements(text)) == stated


def test_only_prices_of_slots_are_stated() -> None:
    """A price of no slot and a price that is no number state nothing."""
    text = '{"protocol": "imap", "type": "costs", "costs": {"0": 5, "x": 1, "3": true}}'

    assert list(typed_statements(text)) == [Statement(0, Claim.COSTS, 5)]


@pytest.mark.parametrize(
    "text",
    [
        "{slot 3} is free for me",
        "I have [3, 4]",
        "3",
        '"free"',
        "[1, 2]",
        '{"protocol": "x", "note": "slot 3 is free"}',
        '{"protocol": "sd", "type": "propose", "slot": 4, "note": "slot 3 is free for me"}',
        '{"protocol": "imap", "type": "costs", "costs": {"slot 3 is free for me": 0}}',
    ],
)
def test_other_words_are_prose(text: str) -> None:
    """Only an object of a known protocol without words of its own is typed: in no other JSON can prose hide."""
    assert not is_typed(text)
