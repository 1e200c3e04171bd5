"""How well cues hear: the labelled sentences, what is counted on them, and what that leaves of the losses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from oracles.hidden_profile.detection import (
    KINDS,
    Detection,
    committed_counts,
    compare_cards,
    compare_sentence,
    count_sentences,
    detect_cards,
    read_sentences,
)
from parley.families.hidden_profile.process import Counts, Hearing, by_cues, hearing, labelled_counts, losses_between
from parley.sharing.release import pinned_tasks
from tests.shipped import SHIPPED
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import Deck, read_task

pytestmark = pytest.mark.property

DECKS = {
    folder.parents[1].name: read
    for folder in sorted(Path("tasks/hidden-profile").glob("*/environment/api"))
    if isinstance(read := read_task(folder / SCENARIO), Deck)
}
LATE = [one for one in read_sentences() if one.late]
EARLY = [one for one in read_sentences() if not one.late]


@pytest.fixture(scope="module")
def counts() -> Counts:
    """What the cues make of every labelled sentence."""
    return labelled_counts(SHIPPED)


def test_labelled_sentences_are_of_the_decks() -> None:
    """At least 900 over all tasks, a third of them late, each kind equally often; deals and cards exist."""
    kinds = Counter(one.kind for one in read_sentences())

    assert len(read_sentences()) >= 900
    assert len(LATE) >= len(read_sentences()) * 0.3
    assert pinned_tasks("hidden-profile").keys() <= {one.task for one in read_sentences()} <= DECKS.keys()
    assert set(kinds) == set(KINDS)
    assert max(kinds.values()) == min(kinds.values())
    for one in read_sentences():
        deck = DECKS[one.task]
        assert len(one.deal) == len(deck.open_cards)
        assert {*one.does} <= {card.id for card in deck.cards}
        assert bool(one.says) == (one.kind == "paraphrase"), one.text


def test_committed_counts_are_what_the_cues_detect(tmp_path: Path) -> None:
    """The file is that of the cues and the rules of today; for a task with other files, the counts are made anew."""
    for task in {one.task for one in read_sentences()}:
        folder = Path("tasks/hidden-profile", task, "environment", "api")
        assert committed_counts(folder, task) == count_sentences(DECKS[task], task), (
            "python -m oracles.hidden_profile.detection"
        )
    (tmp_path / SCENARIO).write_bytes(b"{}")
    assert committed_counts(tmp_path, "bakery-switch") is None


def test_rates_on_the_sentences_that_cues_were_mended_on(counts: Counts) -> None:
    """Precision and recall of what is asserted; the figures of the third that is scored once are printed by reports."""
    early = by_cues(counts, late=False)

    assert early is not None
    assert early.total.precision == pytest.approx(0.931, abs=0.001)
    assert early.total.recall == pytest.approx(0.953, abs=0.001)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "paraphrase"])
def test_what_tells_nothing_is_not_heard(kind: str) -> None:
    """Half a fact, another version, a denial, a doubt, a question and hearsay, on sentences that cues were mended on."""
    those = [one for one in EARLY if one.kind == kind]
    heard = [compare_sentence(detect_cards(DECKS[one.task], one), one).false_alarms for one in those]

    assert sum(heard) <= len(those) / 20


def test_counts_by_hand() -> None:
    """Right, false alarms and missed make precision and recall; nothing heard and nothing told make neither."""
    some = compare_cards(frozenset("abc"), frozenset("bcde")) + Detection(right=6, false_alarms=1, missed=2)

    assert some == Detection(right=8, false_alarms=2, missed=4)
    assert (some.precision, some.recall) == (0.8, pytest.approx(2 / 3))
    assert (Detection(0, 0, 0).precision, Detection(0, 0, 0).recall) == (None, None)


def test_sentences_of_one_task_are_alike() -> None:
    """Eight of ten right leave more open where both faults are of one task than where they are of two."""
    apart = hearing([("a", Detection(4, 1, 0)), ("b", Detection(4, 1, 0))])
    together = hearing([("a", Detection(3, 2, 0)), ("b", Detection(5, 0, 0)), ("b", Detection(0, 0, 0))])

    assert apart.total == together.total
    assert 0 < together.precision[0] < apart.precision[0] < 0.8
    assert Hearing(()).recall[0] == 0


def test_losses_without_error_are_what_was_measured() -> None:
    """Where all is heard right the bounds meet; where nothing has to be heard, any error leaves them alone."""
    pooling, listening = losses_between(1, 1, pooling=0.5, listening=0.2, lucky=0.1, needed=3)

    assert (pooling.low, pooling.high) == (pytest.approx(0.5), pytest.approx(0.5))
    assert (listening.low, listening.high) == (pytest.approx(0.2), pytest.approx(0.2))
    pooling, _ = losses_between(0.6, 0.5, pooling=0.5, listening=0.2, lucky=0.1, needed=0)
    assert (pooling.low, pooling.high) == (0.5, 0.5)


def test_missed_facts_move_pooling_loss_to_listening_loss() -> None:
    """If half of what is said is heard and one fact is needed, twice as many may have known, and more voted wrongly."""
    pooling, listening = losses_between(1, 0.5, pooling=0.7, listening=0.1, lucky=0.2, needed=1)

    assert (pooling.low, pooling.high) == (pytest.approx(0.4), pytest.approx(0.7))
    assert listening.high == pytest.approx(0.1 + 0.3)


def test_deaf_cues_leave_everything_open() -> None:
    """Where nothing is ever heard, everybody may have known."""
    pooling, _ = losses_between(0, 0, pooling=0.7, listening=0.1, lucky=0.2, needed=2)

    assert (pooling.low, pooling.high) == (0.0, 1.0)
