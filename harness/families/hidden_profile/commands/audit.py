"""`harness audit disclosure RUN --judge-model M`: what a judge model hears in recorded sessions, beside what the cues hear.

Measures of pooling rest on hand-written cues. The judge is asked of each message which facts it tells, and of each labelled
sentence too, so that both hearings stand beside the same labels. Answers are kept by what was asked, so a second audit is free.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from harness.agents.llm.asking import CACHE, ApiBase, Cache, Cost, Judge, Workers, Yes, agreed_to_ask, judge_model
from harness.agents.llm.parallel import side_by_side
from harness.console import emit, say, show_table
from harness.errors import UsageError
from harness.families.hidden_profile.heard import hearing
from harness.families.hidden_profile.judging import Agreement, Question, agreement
from harness.families.hidden_profile.transcript import MessageNote, OpeningNote
from harness.reading import RecordedEpisode, read_episode, recorded_episodes
from harness.reading.model import notes
from harness.registry import discover, tasks_root
from oracles.hidden_profile.detection import Sentence, compared, sentences
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import Deck, read_task

FAMILY = "hidden-profile"

What = Annotated[
    list[str], typer.Argument(help="What harness show takes: a run, one episode, a run and a task.", metavar="RUN...")
]
Labelled = Annotated[
    int | None, typer.Option(min=1, help="So many of the labelled sentences, drawn by hash; all unless given.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


@dataclass(frozen=True, slots=True)
class AuditedSession:
    """The messages of one episode, as questions."""

    private: frozenset[str]
    questions: tuple[Question, ...]


def audit_disclosure(
    ctx: typer.Context,
    what: What,
    judge: Judge,
    api_base: ApiBase = None,
    workers: Workers = 4,
    labelled: Labelled = None,
    cache: Cache = CACHE,
    cost: Cost = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Which facts the messages of hidden-profile sessions tell, by a judge model and by cues."""
    model = judge_model(judge, api_base, cache, cost=cost)
    sessions = [one for path in recorded_episodes(what) if (one := _session(read_episode(path)))]
    if not sessions:
        raise UsageError(f"{' '.join(what)} has no hidden-profile session", hint="harness show RUN")
    asserted = _labelled(ctx.obj["tasks"], labelled)
    questions = [*(question for one in sessions for question in one.questions), *(question for question, _ in asserted)]
    different = {question.prompt: question for question in questions}
    if not agreed_to_ask(model, [question.messages for question in different.values()], cost=cost, yes=yes):
        return
    answers = side_by_side(lambda one: one.by_judge(model.answer(one.messages).text), different.values(), workers)
    judged = dict(zip(different, answers, strict=True))
    _show(judge, sessions, asserted, judged, json=json)
    say(f"{model.asked} calls were made, {len(different) - model.asked} answers were kept in {cache}")


def _session(episode: RecordedEpisode) -> AuditedSession | None:
    """The session of an episode; None where it is of another family, or never began."""
    opening = next((note for _, note in notes(episode, "session_start", OpeningNote)), None)
    if opening is None or episode.result.family != FAMILY:
        return None
    facts = tuple(opening.scenario.facts)
    questions = tuple(Question(facts, said.text) for _, said in notes(episode, "message", MessageNote) if said.text)
    return AuditedSession(frozenset(opening.scenario.of_scope("private")), questions)


def _labelled(tasks: Path | None, most: int | None) -> list[tuple[Question, Sentence]]:
    """The labelled sentences of the decks that are at hand, or so many of them."""
    decks = {
        task.task_id: read
        for task in discover(tasks_root(tasks))
        if task.family == FAMILY and isinstance(read := read_task(task.world_folder / SCENARIO), Deck)
    }
    known = sorted(
        (one for one in sentences() if one.task in decks), key=lambda one: hashlib.sha256(one.text.encode()).digest()
    )
    return [(_asked(decks[one.task], one), one) for one in known[:most]]


def _asked(deck: Deck, sentence: Sentence) -> Question:
    numbers = deck.numbers(sentence.deal)
    return Question(tuple(card.drawn(numbers[card.id]) for card in deck.cards), sentence.text)


def _show(
    judge: str, sessions: Sequence[AuditedSession], labelled: Sequence[tuple[Question, Sentence]],
    judged: Mapping[str, frozenset[str] | None], *, json: bool,
) -> None:  # fmt: skip
    """Both tables."""
    hearings: dict[str, Callable[[Question], frozenset[str]]] = {
        "cues": lambda question: question.by_cues,
        judge: lambda question: judged[question.prompt] or frozenset(),
    }
    understood = [
        (question, told) for one in sessions for question in one.questions if (told := judged[question.prompt]) is not None
    ]
    asked = sum(len(one.questions) for one in sessions)
    agreed = agreement(understood)
    integration = [(_integration(one, judged, cues=True), _integration(one, judged, cues=False)) for one in sessions]
    cued, by_judge = (sum(shares) / len(sessions) for shares in zip(*integration, strict=True))
    figures = {"sessions": len(sessions), "messages": asked, "unreadable": asked - len(understood), **_of(agreed),
             "integration_by_cues": cued, "integration_by_judge": by_judge}  # fmt: skip
    rows = [
        {"hearing": name, "written": "late" if late else "before",
         **_against_labels([pair for pair in labelled if pair[1].late is late], heard)}
        for late in (False, True)
        for name, heard in hearings.items()
    ]  # fmt: skip
    if json:
        emit({"labelled": rows, "runs": figures})
        return
    title = "Against sentences labelled by language models (late: written last, scored once; least: of the 95 % interval)"
    show_table(list(rows[0]), [[_cell(one) for one in row.values()] for row in rows], title=title)
    show_table(list(figures), [[_cell(one) for one in figures.values()]], title="In these sessions, cues against judge")


def _against_labels(
    labelled: Sequence[tuple[Question, Sentence]], heard: Callable[[Question], frozenset[str]]
) -> dict[str, float | int | None]:
    """Precision and recall of one way of hearing."""
    result = hearing((one.task, compared(heard(question), frozenset(one.says))) for question, one in labelled)
    return {"sentences": len(labelled), "precision": result.total.precision, "recall": result.total.recall,
            "least_precision": result.least_precision, "least_recall": result.least_recall}  # fmt: skip


def _of(agreed: Agreement) -> dict[str, float | int | None]:
    return {"pairs": agreed.of, "agreement": agreed.share, "kappa": agreed.kappa, "only_cues": agreed.only_cues,
            "only_judge": agreed.only_judge}  # fmt: skip


def _integration(session: AuditedSession, judged: Mapping[str, frozenset[str] | None], *, cues: bool) -> float:
    """The share of a session's private facts that some message told."""
    told: set[str] = set()
    for question in session.questions:
        told |= question.by_cues if cues else judged[question.prompt] or frozenset()
    return len(told & session.private) / len(session.private) if session.private else 0.0


def _cell(value: object) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


KINDS = {"disclosure": audit_disclosure}
