"""Guessers without talk, compared with players: on decks all rules that use one hand, elsewhere rules that use words only.

1. Decks: the adversaries (`oracles.hidden_profile.adversaries`), computed exactly over all deals and seats. The mean over tasks
of each must stay within the bounds of C9: 1/M + .10 of the hidden keys, and J .05.
2. Tasks with one deal: guessers that use words without understanding, and the contrarian. They read the brief and all facts. On
a suite without revealing texts, each scores at most the accuracy of a blind guess plus two of its standard errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import TypeVar

from oracles.hidden_profile.adversaries import ADVERSARIES, score_adversary
from oracles.hidden_profile.decks import MAX_INFORMEDNESS, MAX_MEAN_INFORMEDNESS, hidden_keys
from oracles.hidden_profile.guessers import score_guessers
from oracles.hidden_profile.session import chance_accuracy, score_group
from parley.families.hidden_profile.arms import MANIFEST, Arm, Tasks, arms, figures, informed, of_task, standing_notes
from parley.reports.evidence import Evidence
from parley.reports.table import Column, Row, Table, titled, with_interval
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import KINDS, Deck, Draws, read_task
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import LIMIT, tabulate

Shape = TypeVar("Shape", Deck, Scenario)

BLIND, CONTRARIAN = "blind guess", "contrarian"
_COLUMNS = (
    *titled(player="Player", kind="Kind", tasks="Tasks"),
    Column("accuracy", "Accuracy %", "percent"),
    Column("error", "s.e., pp", "points", shown=False),
    Column("bound", "1/K + 2 s.e., %", "percent"),
    Column("within", "Within"),
)
_DECKS = (
    *titled(player="Player", kind="Kind", tasks="Tasks"),
    *titled("percent", accuracy="Hidden %", bound="1/M + .10, %", manifest="Manifest %"),
    *with_interval("informedness", "J", "signed", "signed_interval"),
    Column("within", "Within"),
)
_HAND = (
    "guessers use one hand and no messages; computed exactly over all deals and seats; within: at most 1/M + .10 of the "
    "hidden keys, and at most J .05; players: accuracy after the talk, average rule"
)
_EPSILON = 1e-9
_NOTE = (
    "guessers and the contrarian, on the tasks of these runs; within: at most the accuracy of a blind guess plus two of its "
    "standard errors; players: Ypost in the hidden profile, average rule"
)


@dataclass(frozen=True, slots=True)
class Guessed:
    """Result of one guesser on some tasks."""

    accuracy: float
    blind: float
    """The accuracy of a blind guess on the same tasks."""

    error: float
    """Standard error of a blind guess, over tasks."""

    @property
    def bound(self) -> float:
        """The largest accuracy that chance explains, at most 1."""
        return min(1.0, self.blind + 2 * self.error)

    @property
    def within(self) -> bool:
        """True if chance explains the accuracy."""
        return self.accuracy <= self.bound


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper has no such table
    """Return a table of decks and one of other tasks; none if the registry has no task of these runs."""
    known = {task for group in evidence.played for task in group.tasks}
    mine = {name: task for name, task in evidence.registry.items() if name in known}
    read = {name: read_task(task.world_folder / SCENARIO) for name, task in mine.items()}
    words = {name: of_task(task) for name, task in mine.items()}
    decks = {name: one for name, one in read.items() if isinstance(one, Deck)}
    scenarios = {name: one for name, one in read.items() if isinstance(one, Scenario)}
    made = []
    if decks:
        by_hand = [row for word, some in _by_word(decks, words) for row in _one_hand(some, word)]
        rows, notes = (*by_hand, *_informed(evidence.only(decks))), (_HAND, *standing_notes(words[name] for name in decks))
        made.append(Table("guessers", "Guessers by one hand, and players, hidden-profile", _DECKS, rows, notes))
    if scenarios:
        by_words = [row for word, some in _by_word(scenarios, words) for row in _text_only(some, word)]
        rows = (*by_words, *_players(evidence.only(scenarios)))
        notes = (_NOTE, *standing_notes(words[name] for name in scenarios))
        title = "Guessers by words, and players, hidden-profile, tasks with one deal"
        made.append(Table("guessers", title, _COLUMNS, rows, notes))
    return made


def _by_word(read: Mapping[str, Shape], words: Mapping[str, str]) -> Iterator[tuple[str, list[Shape]]]:
    """Yield tasks by their standing, certified tasks of the suite first."""
    for word in sorted({words[name] for name in read}):
        yield word, [one for name, one in read.items() if words[name] == word]


def _kind(what: str, word: str) -> str:
    return f"{what}, {word}" if word else what


def _one_hand(decks: Sequence[Deck], word: str) -> Iterator[Row]:
    """Yield the results of the adversaries on decks of one standing."""
    drawn = [Draws(deck) for deck in decks]
    bound = min(1.0, fmean(1 / len(hidden_keys(draws)) for draws in drawn) + float(MAX_INFORMEDNESS))
    for name, adversary in ADVERSARIES.items():
        guesses = [score_adversary(draws, adversary) for draws in drawn]
        hidden, manifest = (fmean(float(getattr(one, kind)) for one in guesses) for kind in KINDS)
        informed = hidden + manifest - 1
        within = hidden <= bound + _EPSILON and informed <= float(MAX_MEAN_INFORMEDNESS) + _EPSILON
        yield {
            "player": name, "kind": _kind("one hand", word), "tasks": len(decks), "accuracy": hidden, "bound": bound,
            "manifest": manifest, "informedness": informed, "within": within,
        }  # fmt: skip


def _informed(evidence: Evidence) -> Iterator[Row]:
    for arm in arms(evidence):
        hidden, manifest = arm.tasks("hidden"), arm.tasks("hidden", MANIFEST)
        if hidden or manifest:
            row = _player(arm, hidden, len({*hidden, *manifest}))
            yield {**row, **informed(hidden, manifest, "average")}


def _text_only(scenarios: Sequence[Scenario], word: str) -> Iterator[Row]:
    """Yield the results of the text-only guessers on scenarios of one standing."""
    for name, guess in guessed(scenarios).items():
        yield {
            "player": name, "kind": _kind("text only", word), "tasks": _count(scenarios, name), "accuracy": guess.accuracy,
            "error": guess.error, "bound": guess.bound, "within": guess.within,
        }  # fmt: skip


def guessed(scenarios: Sequence[Scenario]) -> dict[str, Guessed]:
    """Return a blind guess, every text-only guesser, and the contrarian on the scenarios that can be tabulated."""
    blind = [float(chance_accuracy(scenario)) for scenario in scenarios]
    guesses = {BLIND: _over(blind, blind)}
    scores = [score_guessers(scenario) for scenario in scenarios]
    guesses |= {name: _over([score[name] for score in scores], blind) for name in scores[0]}
    small = [scenario for scenario in scenarios if _can_weigh(scenario)]
    if small:
        shares = [float(score_group(tabulate(scenario), "contra").average or 0) for scenario in small]
        guesses[CONTRARIAN] = _over(shares, [float(chance_accuracy(scenario)) for scenario in small])
    return guesses


def _can_weigh(scenario: Scenario) -> bool:
    """Return True if the scenario has weights, which the contrarian needs, and its possible worlds fit into a table."""
    return any(fact.weights for fact in scenario.facts) and len(scenario.base_atoms) <= LIMIT


def _count(scenarios: Sequence[Scenario], name: str) -> int:
    return sum(map(_can_weigh, scenarios)) if name == CONTRARIAN else len(scenarios)


def _over(shares: Sequence[float], blind: Sequence[float]) -> Guessed:
    return Guessed(fmean(shares), fmean(blind), sqrt(sum(chance * (1 - chance) for chance in blind)) / len(blind))


def _players(evidence: Evidence) -> Iterator[Row]:
    for arm in arms(evidence):
        if hidden := arm.tasks("hidden"):
            yield _player(arm, hidden, len(hidden))


def _player(arm: Arm, hidden: Tasks, tasks: int) -> Row:
    name = f"{arm.title} ({arm.how})" if arm.how else arm.title
    return {"player": name, "kind": "player", "tasks": tasks, "accuracy": figures(hidden, {}, "average").post}
