"""How well cues hear: the labelled sentences, what is counted on them, and what that leaves of the losses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from oracles.hidden_profile.detection import KINDS, Detection, compare_cards, detect_cards, read_sentences
from parley.families.hidden_profile.process import Counts, Hearing, by_cues, hearing, labelled_counts, losses_between, said_of
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
    """At least 300 over all tasks, a third of them late, of every kind; deals and cards exist, and only paraphrases tell."""
    kinds = Counter(one.kind for one in read_sentences())

    assert len(read_sentences()) >= 300
    assert len(LATE) >= len(read_sentences()) / 3
    assert pinned_tasks("hidden-profile").keys() <= {one.task for one in EARLY} <= DECKS.keys()
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 30
    for one in read_sentences():
        deck = DECKS[one.task]
        assert one.deal in {*deck.deals.hidden, *deck.deals.manifest}
        assert {*one.says} <= {card.id for card in deck.cards}
        assert bool(one.says) == (one.kind == "paraphrase"), one.text


def test_rates_on_sentences_that_nobody_mended_cues_on(counts: Counts) -> None:
    """What is printed in reports; docs/hidden-profile.md has these figures."""
    late = by_cues(counts, late=True)

    assert late is not None
    assert (late.total.precision, late.total.recall) == (pytest.approx(0.957, abs=0.001), pytest.approx(0.923, abs=0.001))
    assert late.precision == (pytest.approx(0.933, abs=0.001), pytest.approx(0.972, abs=0.001))
    assert late.recall == (pytest.approx(0.895, abs=0.001), pytest.approx(0.945, abs=0.001))


def test_rates_on_all_labelled_sentences(counts: Counts) -> None:
    """Precision is at least .97 and recall at least .92, even at the lower ends; and all three pairs are in the note."""
    whole, before, late = (by_cues(counts, late=which) for which in (None, False, True))

    assert whole is not None
    assert before is not None
    assert late is not None
    assert whole.total == before.total + late.total
    assert (whole.total.precision, whole.total.recall) == (pytest.approx(0.985, abs=0.001), pytest.approx(0.971, abs=0.001))
    assert (whole.precision[0], whole.recall[0]) == (pytest.approx(0.977, abs=0.001), pytest.approx(0.960, abs=0.001))
    assert said_of(counts) == (
        "cues on sentences labelled by language models, 95 % intervals; "
        "written last, scored once: precision 0.957 (0.93..0.97), recall 0.923 (0.89..0.94); "
        "mended on: precision 0.999 (0.99..1.00), recall 0.995 (0.98..1.00); "
        "all: precision 0.985 (0.98..0.99), recall 0.971 (0.96..0.98)"
    )


@pytest.mark.parametrize(("kind", "most"), [("partial", 2), ("denial", 2), ("near miss", 5)])
def test_false_alarms_of_each_kind_are_no_more_than_were_found(kind: str, most: int) -> None:
    """On the sentences that were scored once, so that no change of the hearing makes it worse unseen."""
    assert sum(bool(detect_cards(DECKS[one.task], one)) for one in LATE if one.kind == kind) <= most


@pytest.mark.parametrize("kind", ["partial", "denial", "near miss"])
def test_what_tells_nothing_is_not_heard(kind: str) -> None:
    """Half a fact, a question, a denial and other words about the matter, on sentences that cues were mended on."""
    those = [one for one in EARLY if one.kind == kind]
    alarms = [one.text for one in those if detect_cards(DECKS[one.task], one)]

    assert len(alarms) <= len(those) / 50


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
