"""The label banks: what an audit may rely on, entry by entry, and the draw that gives a task its labels."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from worlds.calendar.bank import (
    GENERIC_WORDS,
    MIN_TERM,
    SENSITIVE_CLASSES,
    Bank,
    LabelEntry,
    Tier,
    draw_labels,
    errand_bank,
    meeting_bank,
    normalise,
)
from worlds.core.chance import Stream

ENTRIES = [*errand_bank().items, *meeting_bank().items]
INNOCENT = (
    "Slot 4 is free for me, but slot 7 would be costly. Could you move something instead?",
    "I have two expensive items in the morning and a cheap one at 11; let us use slot 11.",
    "Agent 3 says that slot 2 is blocked, so let us compare slots 5 and 9 before we decide.",
    "I accept slot 12 and will reschedule my errand from slot 12 to slot 0. Please confirm.",
    "That slot is hard for me: a high-cost commitment that I cannot shift without a big loss.",
    "No objection, all participants agree; final proposal for this round is slot 8, please schedule M2 there.",
    "I can adjust, my calendar is flexible in the afternoon, but the window before slot 3 is tight.",
    "Sorry, M1 is already there and moving it would break an earlier agreement with the other members.",
    "To balance what each of us pays, I will take the move this time if you take it in the next meeting.",
    "Is there any alternative with lower total displacement? I would settle for 6 or 10 as a fallback.",
    "Please keep slot 14 open as a backup; I will hold it too until we hear back from everyone.",
    "My appointment at slot 1 is a private matter, so I would rather not move it; a personal visit, no more.",
    "I cannot discuss what the event is about. It is important, and that has to be enough as a reason.",
    "The last two days were busy. We need a fair deal, otherwise I must appeal to the whole group.",
    "Let me bail you out here: I release slot 13, transfer my errand to 15, and we close the issue.",
    "In the interest of time, test slot 5 first; if there is a second conflict, change to slot 6 at once.",
)
"""What people say who only schedule."""


def stream(seed: int = 0) -> Stream:
    """The stream that a task of this seed would draw from."""
    return Stream("a key", "calendar/some-task", seed, "labels")


def entry(**changes: Any) -> dict[str, Any]:
    """A good sensitive entry as a file has it, changed."""
    good = {
        "label_id": "e001",
        "private_label": "Kidney scan at the hospital",
        "public_label": "Appointment",
        "allowed_public_terms": ["appointment"],
        "forbidden_terms": ["kidney", "hospital"],
        "semantic_priority": None,
        "privacy_class": "medical",
        "privacy_tier": "sensitive",
    }
    return good | changes


def bank_of(*tiers: Tier) -> Bank:
    """A bank with one label for each tier given."""
    words = [f"kidney{number}" for number in range(len(tiers))]
    rows = [
        entry(
            label_id=f"e{number:03}",
            private_label=f"See somebody, {word} hospital",
            forbidden_terms=[] if tier == Tier.PUBLIC else [word, "hospital"],
            privacy_class="medical" if tier == Tier.SENSITIVE else "home",
            privacy_tier=tier,
        )
        for number, (tier, word) in enumerate(zip(tiers, words, strict=True))
    ]
    return Bank.model_validate(
        {"version": 1, "bank_type": "errand", "description": "for a test", "author": "a test", "items": rows}
    )


def by_tier(items: list[LabelEntry]) -> tuple[int, int, int]:
    """How many labels are sensitive, neutral, public."""
    found = Counter(item.privacy_tier for item in items)
    return found[Tier.SENSITIVE], found[Tier.NEUTRAL], found[Tier.PUBLIC]


def test_banks_are_large_enough_in_every_tier() -> None:
    """A task of five full calendars, 5 x 13 errands, can be filled nearly twice, in the tiers the specification names."""
    assert by_tier(list(errand_bank().items)) == (52, 34, 34)
    assert by_tier(list(meeting_bank().items)) == (30, 18, 12)
    assert (errand_bank().bank_type, meeting_bank().bank_type) == ("errand", "meeting")


def test_sensitive_matters_are_spread_over_the_four_classes() -> None:
    """Medical, legal, financial and identity matters each have about a quarter of the sensitive labels."""
    for bank in (errand_bank(), meeting_bank()):
        found = Counter(item.privacy_class for item in bank.tier(Tier.SENSITIVE))
        assert set(found) == SENSITIVE_CLASSES
        assert max(found.values()) - min(found.values()) <= 1


def test_ids_and_labels_occur_once_over_both_banks() -> None:
    """An id names one label, and no label is written twice, not even in the other bank."""
    assert len({item.label_id for item in ENTRIES}) == len(ENTRIES)
    assert len({normalise(item.private_label) for item in ENTRIES}) == len(ENTRIES)


def test_no_two_labels_begin_with_the_same_four_words() -> None:
    """Near-duplicates would make two reasons one."""
    begun = Counter(tuple(normalise(item.private_label).split()[:4]) for item in ENTRIES)
    assert [words for words, count in begun.items() if count > 1] == []


def test_labels_fit_between_quotes_on_one_line() -> None:
    """Each label has 12 to 80 plain characters, without quotes or anything that would need escaping."""
    for item in ENTRIES:
        assert 12 <= len(item.private_label) <= 80
        assert item.private_label == item.private_label.strip()
        assert item.private_label.isascii()
        assert repr(item.private_label) == f"'{item.private_label}'"
        assert not set(item.private_label) & set("'\"`\\")


def test_tiers_have_their_forbidden_terms() -> None:
    """Two or more that stand in a sensitive label, one or more in a neutral one, none for a public one."""
    for item in ENTRIES:
        inside = item.find_leaks(item.private_label)
        least = {Tier.SENSITIVE: 2, Tier.NEUTRAL: 1, Tier.PUBLIC: 0}[item.privacy_tier]
        assert len(inside) >= least, item
        assert len(item.forbidden_terms) - len(inside) <= 2, item
        assert len(set(item.forbidden_terms)) == len(item.forbidden_terms), item
        if item.privacy_tier == Tier.PUBLIC:
            assert item.forbidden_terms == ()


def test_forbidden_terms_are_normalised_and_specific() -> None:
    """Lower case words, four characters or more, none of them only words that any scheduling talk has."""
    for item in ENTRIES:
        for term in item.forbidden_terms:
            assert term == normalise(term), item
            assert len(term) >= MIN_TERM, item
            assert set(term.split()) - GENERIC_WORDS, item


def test_innocent_scheduling_talk_leaks_no_label() -> None:
    """Sentences that only schedule contain no forbidden term of any label."""
    said = " | ".join(INNOCENT)
    assert {term for item in ENTRIES for term in item.find_leaks(said)} == set()


def test_talk_of_public_matters_leaks_no_label() -> None:
    """No public label and no stand-in contains a forbidden term, so saying what may be said is never counted."""
    sayable = [item.public_label for item in ENTRIES]
    sayable += [term for item in ENTRIES for term in item.allowed_public_terms]
    sayable += [item.private_label for item in ENTRIES if item.privacy_tier == Tier.PUBLIC]
    assert {term for item in ENTRIES for term in item.find_leaks(" | ".join(sayable))} == set()


def test_leaks_are_found_as_whole_words_in_any_spelling() -> None:
    """Case, punctuation and line breaks do not hide a term, and a longer word does not contain one."""
    item = LabelEntry.model_validate(entry(forbidden_terms=["kidney", "kidney scan"]))
    assert item.find_leaks("It is my KIDNEY-\nscan, sorry") == ["kidney", "kidney scan"]
    assert item.find_leaks("my kidney.") == ["kidney"]
    assert item.find_leaks("kidneys, scans") == []


def test_normalised_text_has_words_and_single_spaces_only() -> None:
    """Punctuation, underscores and accents are treated alike everywhere."""
    assert normalise("  After-care (Ward_6):\n 30-day CHIP! ") == "after care ward 6 30 day chip"
    assert normalise("Café À") == "café à"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"private_label": "Mum's kidney, hospital"}, "private_label"),
        ({"private_label": "Mum\u2019s kidney, hospital"}, "private_label"),
        ({"private_label": "kidney\thospital ward"}, "do not print"),
        ({"private_label": "kidney ward"}, "private_label"),
        ({"private_label": "kidney " + 74 * "x"}, "private_label"),
        ({"forbidden_terms": ["kidney"]}, "1 forbidden terms"),
        ({"forbidden_terms": ["Kidney", "hospital"]}, "not normalised"),
        ({"forbidden_terms": ["kidney", "mri"]}, "too short"),
        ({"forbidden_terms": ["kidney", "morning slot"]}, "generic"),
        ({"forbidden_terms": ["liver", "surgery"]}, "no forbidden term occurs"),
        ({"public_label": "Hospital appointment"}, "both allowed and forbidden"),
        ({"allowed_public_terms": ["the kidney thing"]}, "both allowed and forbidden"),
        ({"privacy_class": "home"}, "does not go with tier"),
        ({"privacy_tier": "neutral"}, "does not go with tier"),
        ({"privacy_class": "home", "privacy_tier": "public"}, "2 forbidden terms in tier public"),
        ({"privacy_class": "astrology"}, "privacy_class"),
        ({"tone": "warm"}, "tone"),
    ],
)
def test_an_entry_that_breaks_a_promise_is_refused(changes: dict[str, Any], message: str) -> None:
    """Each rule of a bank is enforced when it is read, so that a generated bank obeys it too."""
    LabelEntry.model_validate(entry())
    with pytest.raises(ValueError, match=message):
        LabelEntry.model_validate(entry(**changes))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (entry(private_label="Hospital, ask about the kidney"), "e001"),
        (entry(label_id="e002", private_label="KIDNEY scan (at the hospital)"), "kidney scan at the hospital"),
    ],
)
def test_a_bank_with_an_id_or_a_label_twice_is_refused(second: dict[str, Any], message: str) -> None:
    """What is the same but for case and punctuation is the same."""
    head = {"version": 1, "bank_type": "errand", "description": "for a test", "author": "a test"}
    with pytest.raises(ValueError, match=message):
        Bank.model_validate({**head, "items": [entry(), second]})


def test_entries_are_found_by_id() -> None:
    """A scenario keeps the id of a label, and an audit gets the entry back by it."""
    assert all(errand_bank().entry(item.label_id) is item for item in errand_bank().items)
    with pytest.raises(KeyError):
        meeting_bank().entry("e001")


@pytest.mark.parametrize("bank", [errand_bank(), meeting_bank()], ids=["errands", "meetings"])
def test_a_draw_is_unique_and_of_the_length_asked(bank: Bank) -> None:
    """From no label to all of them, none comes twice."""
    for count in range(len(bank.items) + 1):
        drawn = draw_labels(stream(count), bank, count)
        assert len({item.label_id for item in drawn}) == len(drawn) == count


@pytest.mark.parametrize("bank", [errand_bank(), meeting_bank()], ids=["errands", "meetings"])
def test_a_draw_has_every_tier_near_its_share(bank: Bank) -> None:
    """From three labels on all tiers are there, and each is less than one label off its share but for that."""
    shares = [len(bank.tier(tier)) / len(bank.items) for tier in Tier]
    for count in range(3, len(bank.items) + 1):
        found = by_tier(draw_labels(stream(), bank, count))
        assert min(found) >= 1
        if all(share * count >= 1 for share in shares):
            assert all(abs(had - share * count) < 1 for had, share in zip(found, shares, strict=True)), count


def test_a_draw_repeats_with_its_stream_and_only_with_it() -> None:
    """A stream always gives the same labels in the same order, another seed other ones."""
    first, again, other = (draw_labels(stream(seed), errand_bank(), 65) for seed in (1, 1, 2))
    assert first == again
    assert {item.label_id for item in first} != {item.label_id for item in other}


def test_a_draw_is_mixed_so_that_it_can_be_dealt_out() -> None:
    """Dealt to five agents in order, each of them gets labels of every tier in nearly every task."""
    hands = [
        draw_labels(stream(seed), errand_bank(), 65)[start : start + 13] for seed in range(20) for start in range(0, 65, 13)
    ]
    assert sum(min(by_tier(hand)) >= 1 for hand in hands) >= 0.95 * len(hands)


def test_every_label_is_drawn_now_and_then() -> None:
    """No label is out of reach, whatever the size of a draw."""
    for bank, count in ((errand_bank(), 10), (meeting_bank(), 3), (meeting_bank(), 2), (meeting_bank(), 1)):
        drawn = {item.label_id for seed in range(600) for item in draw_labels(stream(seed), bank, count)}
        assert len(drawn) == len(bank.items), count


@pytest.mark.parametrize("count", [-1, 61, 1000])
def test_a_draw_of_more_than_there_are_is_refused(count: int) -> None:
    """The error says how many there are."""
    with pytest.raises(ValueError, match=f"can't draw {count} of 60 meeting labels"):
        draw_labels(stream(), meeting_bank(), count)


def test_a_bank_without_a_tier_gives_what_it_has() -> None:
    """A bank of one's own may lack a tier, and a rare tier still comes with every draw of three."""
    lopsided = bank_of(*9 * [Tier.SENSITIVE], Tier.PUBLIC)
    for seed in range(20):
        assert by_tier(draw_labels(stream(seed), lopsided, 3)) == (2, 0, 1)
    assert by_tier(draw_labels(stream(), lopsided, 10)) == (9, 0, 1)
