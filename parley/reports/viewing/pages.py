"""Typed models of all pages of the viewer: list of runs, run, episode, seat of an episode, comparison of two, and glossary.

A page's JSON is its model; for an episode it is the whole `RecordedEpisode`, which `harness show --json` prints too. Links are
addresses relative to the root of the site, and `root` is the relative path to it, so the same page works on a server and from a
disk. Templates are rendered to HTML with escaping in the environment itself, so no template can forget it: `finalize` spells
out characters that browsers interpret or hide, and escaping is on for all files.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic import ValidationError

from harness.frames import grouped
from harness.plugins import families, family_part_or_none
from harness.records import Key
from harness.sanitize import printable
from parley.caveats import disturbances_told, forfeits_told
from parley.reports.reading import (
    Act,
    Breach,
    Lifetime,
    RecordedEpisode,
    Section,
    ToolUse,
    Utterance,
    breach_told,
    breaking_request,
    lifetimes,
    rule_told,
)
from parley.reports.reading.addresses import episode_name, episode_page, run_page
from parley.reports.reading.text import cell_text
from parley.reports.viewing.library import ShownRun
from parley.reports.viewing.rows import (
    EpisodeRow,
    Facet,
    RunRow,
    address,
    chosen,
    episode_row,
    facets,
    is_being_played,
    listed,
    run_rows,
)
from parley.reports.viewing.timeline import (
    CutText,
    Grid,
    HeardTable,
    Talk,
    Timeline,
    cut_text,
    grid,
    heard,
    seated,
    talk,
    timeline,
)
from parley.rules import StatedRule, rules_said
from validators.verdict import Check
from worlds.core.models import Lenient, Strict

GLOSSARY = "glossary.html"

_TERMS = (
    ("run", "Some tasks played by one agent or model, at one or more seeds, a number of attempts each."),
    ("episode", "One attempt at one task at one seed."),
    ("seed", "The number from which a task's texts, tokens and times are drawn. Two seeds give two variants of a task."),
    ("world", "The server of one task. It answers the agent, keeps virtual time, and logs every request."),
    ("virtual time", "The time of the world's own clock. Requests and waits advance it; thinking does not."),
    ("contract", "A requirement of a world for a request: which bytes, in which window of time, after which step."),
    ("artifact", "Something that a world issues under a contract, such as a token or a link."),
    ("verdict", "The result of the hidden tests for the world's log: success, or a label that names the failure."),
    ("hidden tests", "The checks that make the verdict. The agent cannot see them. An episode succeeds if all of them pass."),
    ("resolution", "The end of a round or session, when the rules evaluate the decisions of all seats; a game can fail there."),
    ("fault", "The action of one seat that lost a round or session, if the rules name one. Its turn is marked."),
    ("oracle", "A scripted control, not a model: it plays each task correctly and must succeed."),
    ("nop", "A scripted control, not a model: it does nothing and must fail."),
    ("violation:*", "Scripted controls, not models: each breaks the rule in its name and must earn that rule's label."),
)


class Meaning(Strict):
    """A word and its meaning; `anchor` is its place on the page."""

    word: str
    meaning: str
    anchor: str


class LabelsOf(Strict):
    """The labels of one family."""

    family: str
    labels: tuple[Meaning, ...]


class GlossaryPage(Strict):
    """Terms and labels of the glossary."""

    terms: tuple[Meaning, ...]
    families: tuple[LabelsOf, ...]


@cache
def glossary() -> GlossaryPage:
    """Return the page."""
    terms = tuple(_meaning("term", word, told, word.rstrip(":*")) for word, told in _TERMS)
    labels = []
    for family in families():
        part = family_part_or_none(family, "label_text")
        meanings: dict[str, str] = part.MEANINGS if part else {}
        labels.append(LabelsOf(family=family, labels=tuple(_meaning(family, *one, one[0]) for one in meanings.items())))
    return GlossaryPage(terms=terms, families=tuple(labels))


def label_anchor(label: str, family: str) -> str:
    """Return the anchor of a family's label in the glossary; "" if it is not there."""
    known = (one.anchor for of in glossary().families if of.family == family for one in of.labels if one.word == label)
    return next(known, "")


def _meaning(kind: str, word: str, meaning: str, name: str) -> Meaning:
    return Meaning(word=word, meaning=meaning, anchor=f"{kind}-{name.replace(' ', '-')}")


HERE = Path(__file__).parent
PALETTE = 8
"""Number of seat colours; the style sheet has one class for each."""

POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'"
"""Content security policy: this site only, without inline styles and scripts."""

_NAME = re.compile(r"((?<=\bfield )[\w.\[\]-]+|(?<=\bheader )[A-Z][\w-]*|(?<=\bparameter )[\w.-]+|\b\w*[^\W_]_[^\W_]\w*)")
"""Names of the interface inside a rule."""

_BREAKS = re.compile(r"(?<=[:_=/])(?=\w)")
"""Positions at which a long name may be broken."""


def render(template: str, page: object, *, depth: int, is_bundle: bool) -> bytes:
    """Return a page as HTML; `depth` is the number of folders between it and the root of the site."""
    made = _environment().get_template(f"{template}.html.j2")
    return made.render(page=page, root="../" * depth, is_bundle=is_bundle, policy=POLICY).encode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=cell_text,
        percent=lambda share: "-" if share is None else f"{100 * share:.0f} %",
        dollars=lambda cost: "-" if cost is None else f"${cost:,.2f}" if cost >= 0.1 else f"${cost:.4f}",
        seconds=lambda value: f"{value:,.6g} s",
        colour=lambda seat: f"seat-{seat % PALETTE}",
        pieces=_pieces,
        label_anchor=label_anchor,
        parts=_BREAKS.split,
    )
    return environment


def _pieces(rule: str) -> list[tuple[str, bool]]:
    """Return a rule in pieces, each with True if it is a name of the interface: a field, header, parameter or test."""
    return [(piece, number % 2 == 1) for number, piece in enumerate(_NAME.split(rule)) if piece]


def _shown(value: Any) -> Any:
    """Return a value as it is put into a page, before it is escaped."""
    if isinstance(value, Markup):
        return value
    return printable(value) if isinstance(value, str) else "" if value is None else value


_MOST_ROWS = 40
"""Maximum number of rows, counted from the first difference."""

_BEFORE, _LONGEST = 200, 1_200
"""Characters shown before the first difference inside a text, and of a text at most."""


class Side(Strict):
    """An entry of one episode."""

    title: str
    same: str
    """The end of the common beginning."""

    rest: CutText
    """The remaining text."""

    is_violation: bool = False


class ComparedRow(Strict):
    """The entries at one position of both episodes; None if one has ended."""

    number: int
    left: Side | None
    right: Side | None
    is_different: bool


class Track(Strict):
    """A kind of entry, of both episodes."""

    title: str
    equal: int
    """Number of equal entries at the beginning."""

    prefix: tuple[str, ...]
    """Titles of the equal entries."""

    rows: tuple[ComparedRow, ...]
    left_out: int = 0
    totals: tuple[int, int]
    """Number of entries of each episode."""


class ShownFact(Strict):
    """A value of both episodes."""

    name: str
    left: str
    right: str


_Step = tuple[str, str, bool]
"""Title, text, and True if a rule was broken there."""


def tracks(left: RecordedEpisode, right: RecordedEpisode) -> tuple[Track, ...]:
    """Return the comparable parts of two episodes: requests to the world, and messages."""
    pairs = (("Requests to the world", _requests), ("Messages", _talk))
    return tuple(track for title, steps in pairs if (track := _track(title, steps, left, right)))


def compared_facts(left: RecordedEpisode, right: RecordedEpisode) -> tuple[ShownFact, ...]:
    """Return the values of both episodes that are known for at least one."""
    shown: tuple[tuple[str, Callable[[RecordedEpisode], str]], ...] = (
        ("outcome", lambda one: one.result.outcome),
        ("why", breach_told),
        ("reward", lambda one: "" if one.result.reward is None else f"{one.result.reward:g}"),
        ("run", lambda one: one.result.run),
        ("agent", lambda one: one.result.model or one.result.agent),
        ("options", lambda one: ", ".join(f"{name}={value}" for name, value in one.result.options.items())),
        ("seed", lambda one: str(one.result.seed)),
        ("steps", lambda one: str(one.result.steps)),
        ("virtual time", lambda one: f"{one.result.virtual_time_elapsed:g} s"),
        ("stopped by", lambda one: one.result.stopped),
        ("model calls", lambda one: str(one.result.tokens.calls)),
    )
    made = (ShownFact(name=name, left=of(left), right=of(right)) for name, of in shown)
    return tuple(fact for fact in made if fact.left or fact.right)


def _track(
    title: str, steps: Callable[[RecordedEpisode], Sequence[_Step]], left: RecordedEpisode, right: RecordedEpisode
) -> Track | None:
    mine, theirs = steps(left), steps(right)
    if not mine and not theirs:
        return None
    longest, both = max(len(mine), len(theirs)), min(len(mine), len(theirs))
    equal = next((n for n in range(both) if mine[n] != theirs[n]), both)
    rows = [_row(number, mine, theirs) for number in range(equal, min(longest, equal + _MOST_ROWS))]
    return Track(
        title=title, equal=equal, prefix=tuple(step[0] for step in mine[: min(equal, _MOST_ROWS)]), rows=tuple(rows),
        left_out=longest - equal - len(rows), totals=(len(mine), len(theirs)),
    )  # fmt: skip


def _row(number: int, mine: Sequence[_Step], theirs: Sequence[_Step]) -> ComparedRow:
    left, right = (steps[number] if number < len(steps) else None for steps in (mine, theirs))
    shared = _shared(left[1], right[1]) if left and right else 0
    return ComparedRow(number=number + 1, left=_side(left, shared), right=_side(right, shared), is_different=left != right)


def _shared(left: str, right: str) -> int:
    """Return the length of the common prefix of two texts."""
    most = min(len(left), len(right))
    return bisect_left(range(1, most + 1), True, key=lambda size: left[:size] != right[:size])


def _side(step: _Step | None, shared: int) -> Side | None:
    if step is None:
        return None
    title, text, is_violation = step
    same = text[max(0, shared - _BEFORE) : shared]
    before = "… " if shared > _BEFORE else ""
    return Side(title=title, same=before + same, rest=cut_text(text[shared:], _LONGEST), is_violation=is_violation)


def _requests(episode: RecordedEpisode) -> list[_Step]:
    lives, steps = lifetimes(episode), list[_Step]()
    for act in episode.acts:
        rule = rule_told(act.rule, act, lives) if act.rule else None
        judged = " ".join(str(part) for part in (act.status, act.kind, act.label, rule) if part is not None)
        steps.append((act.told, f"at {act.at:g} s {judged}", act.kind == "violation"))
    return steps


def _talk(episode: RecordedEpisode) -> list[_Step]:
    """Return the messages: in a game the turns of all seats in the order of the log, else the longest conversation."""
    seats = [(one.name, said) for one in episode.conversations if one.seat is not None for said in one.utterances]
    if seats:
        # a stable sort keeps each reply after its question at the same moment
        ordered = sorted(seats, key=lambda pair: pair[1].moment.seq if pair[1].moment else -1)
        return [_said(said, name) for name, said in ordered]
    longest = max(episode.conversations, key=lambda one: len(one.utterances), default=None)
    return [_said(said, said.speaker) for said in longest.utterances] if longest else []


def _said(said: Utterance, name: str) -> _Step:
    spoken = {"system": "rules", "user": "was told", "agent": "said"}[said.speaker]
    place = f", round {said.moment.round}, {said.moment.phase}" if said.moment else ""
    parts = [said.text, *(f"-> {use.tool} {use.arguments}\n<- {use.answer or 'nothing'}" for use in said.tools)]
    title = f"{name} {spoken}" if said.moment or said.speaker == "system" else spoken
    return title + place, "\n".join([*filter(None, parts), *said.feedback]), False


_AHEAD = 50
"""Number of tool calls searched for that of a request, because not every call reaches the world."""


class _Arguments(Lenient):
    method: str = "POST"
    url: str = "/submission"
    seconds: float | None = None


class ShownAct(Act):
    """An act with the input and output of its tool call, None if no tool call is known, and the lifetimes of its artifacts."""

    lives: tuple[Lifetime, ...] = ()
    """Lifetimes of the artifacts that it issued."""

    sent: CutText | None = None
    got: CutText | None = None
    is_breach: bool = False
    """True if this act earned the verdict's label."""


def exchanges(episode: RecordedEpisode) -> Iterator[ShownAct]:
    """Yield every act of an episode, in order."""
    uses = [use for one in episode.conversations if one.seat is None for said in one.utterances for use in said.tools]
    targets = [_target(use) for use in uses]
    broken = episode.breach.seq if episode.breach else None
    lives = lifetimes(episode)
    made = grouped(lives, lambda one: one.seq)
    place = 0
    for act in episode.acts:
        ahead = range(place, min(place + _AHEAD, len(targets)) if act.what == "request" else place)
        at = next((at for at in ahead if targets[at] == act.told), None)
        use = uses[at] if at is not None else None
        place = place if at is None else at + 1
        yield ShownAct(
            **{**act.model_dump(), "rule": rule_told(act.rule, act, lives) if act.rule else act.rule},
            lives=tuple(made.get(act.seq, ())),
            sent=cut_text(use.arguments) if use else None,
            got=cut_text(use.answer) if use and use.answer is not None else None,
            is_breach=act.seq == broken,
        )


def _target(use: ToolUse) -> str | None:
    """Return `METHOD /path` of a tool call, as in the log; None for a call that sends nothing."""
    try:
        asked = _Arguments.model_validate_json(use.arguments)
    except ValidationError:
        return None
    if asked.seconds is not None:
        return None
    path = "/" + asked.url.split("://", 1)[-1].partition("/")[2] if "://" in asked.url else asked.url
    return f"{asked.method} {path.partition('?')[0]}"


MOST_ACTS = 500
"""Maximum number of requests on a page, counted from the first; the breach is always included."""


class PageLink(Strict):
    """A link within the site."""

    page: str
    told: str


class FamilyStanding(Strict):
    """The runs of one family, sorted by success rate; not a ranking, because their tasks may differ."""

    family: str
    rows: tuple[RunRow, ...]


class RunsPage(Strict):
    """The first page."""

    runs: tuple[RunRow, ...]
    standings: tuple[FamilyStanding, ...]
    has_controls: bool
    """True if a scripted control is among the players."""


class DamageRow(Strict):
    """An unreadable episode."""

    name: str
    why: str


class RunPage(Strict):
    """A page of the episodes of a run."""

    run: str
    folder: str
    rows: tuple[RunRow, ...]
    facets: tuple[Facet, ...]
    filters: dict[str, str]
    episodes: tuple[EpisodeRow, ...]
    total: int
    listed: int
    number: int
    pages: tuple[PageLink, ...]
    damaged: tuple[DamageRow, ...]


class VerdictLine(Strict):
    """The headline of an episode."""

    icon: str
    label: str
    stopped: str
    """Cause that stopped the episode; "" if nothing did or it succeeded."""

    breach: Breach | None
    rule: str
    """The broken rule, with what ended an artifact if the log shows it."""

    anchor: str
    """Anchor of the breach on the page, the request or the resolution of a round; empty if the page shows neither."""

    turns: tuple[PageLink, ...]
    """The turns of the seats that lost a game, each by its anchor on this page."""


class EpisodePage(Strict):
    """Page of an episode."""

    run: str
    key: Key
    headline: VerdictLine
    facts: tuple[ShownFact, ...]
    doubts: tuple[str, ...]
    absent: tuple[str, ...]
    lacks: tuple[str, ...]
    """Sections that the page does not have, with the reason."""

    timeline: Timeline | None
    exchanges: tuple[ShownAct, ...]
    acts_left_out: int
    sections: tuple[Section, ...]
    grid: Grid | None
    heard: HeardTable | None
    seats: tuple[Talk, ...]
    talks: tuple[Talk, ...]
    checks: tuple[Check, ...]
    agent_log: CutText | None
    instruction: CutText | None
    rules: tuple[StatedRule, ...]
    files: tuple[PageLink, ...]
    seat_pages: tuple[PageLink, ...]
    partners: tuple[PageLink, ...]
    before: PageLink | None
    after: PageLink | None
    next_failed: PageLink | None


class SeatPage(Strict):
    """Messages to and from one seat of a game."""

    run: str
    key: Key
    talk: Talk
    others: tuple[PageLink, ...]
    episode: PageLink


class ComparePage(Strict):
    """Two episodes of one task."""

    run: str
    doubt: str
    """Reason why the two cannot be compared line by line; empty if they can."""

    left: PageLink
    right: PageLink
    task: str
    facts: tuple[ShownFact, ...]
    tracks: tuple[Track, ...]


def runs_page(runs: Sequence[ShownRun]) -> RunsPage:
    """Return the list of runs, and the success rates of each family."""
    rows = [row for run in runs for row in run_rows(run, is_playing=is_being_played(run.path))]
    families = dict.fromkeys(row.family for row in rows if row.score.graded)
    players = [player for row in rows for player in row.players]
    # sort by rate, highest first; rows without a rate are last
    standing: Callable[[RunRow], Any] = lambda row: (row.score.rate is None, -(row.score.rate or 0.0), row.run)  # noqa: E731
    standings = (
        FamilyStanding(family=family, rows=tuple(sorted((row for row in rows if row.family == family), key=standing)))
        for family in sorted(families)
    )
    return RunsPage(
        runs=tuple(rows),
        standings=tuple(standings),
        has_controls=any(player in {"oracle", "nop"} or player.startswith("violation:") for player in players),
    )


def run_page_of(run: ShownRun, query: Mapping[str, str], *, number: int, size: int) -> RunPage:
    """Return a page of a run's episodes, with `size` rows per page; `number` is from 1."""
    filters, folders = chosen(query), {episode_page(run.name, one.key): one.key.name for one in run.episodes}
    every = [episode_row(run.name, one) for one in run.episodes]
    rows = listed(every, filters)
    last = max(1, math.ceil(len(rows) / size))
    number = min(max(number, 1), last)
    pages = (
        PageLink(page=(run_page(run.name) + address(filters, n)) if filters else run_page(run.name, n), told=str(n))
        for n in range(1, last + 1)
    )
    return RunPage(
        run=run.name,
        folder=str(run.path),
        rows=tuple(run_rows(run, is_playing=is_being_played(run.path))),
        facets=facets(every, filters),
        filters=filters,
        episodes=tuple(
            row.model_copy(update={"broke": breaking_request(run.path, f"episodes/{folders[row.page]}")})
            if row.status == "graded" and not row.success
            else row
            for row in rows[(number - 1) * size : number * size]
        ),
        total=len(every),
        listed=len(rows),
        number=number,
        pages=tuple(pages),
        damaged=tuple(DamageRow(name=one.key.name, why=one.why) for one in run.damaged),
    )


def episode_page_of(
    run: ShownRun, key: Key, episode: RecordedEpisode, *, files: Sequence[PageLink], partners: Sequence[PageLink]
) -> EpisodePage:
    """Return an episode's page; `files` and `partners` link to its files and its comparisons."""
    place, last = run.places[key], len(run.episodes) - 1
    failed = next((one.key for one in islice(run.episodes, place + 1, None) if not one.result.success), None)
    # log numbers of the act and the turns that failed the episode
    breach = episode.breach
    broken = frozenset(seq for seq in (*breach.turns, breach.seq) if seq is not None) if breach else frozenset[int]()
    acts = list(exchanges(episode))
    shown = [act for number, act in enumerate(acts) if number < MOST_ACTS or act.is_breach]
    seats = seated(episode)
    resolved = breach.seq if breach and not any(act.is_breach for act in acts) else None
    rounds = grid(seats, broken, resolved) if seats else None
    return EpisodePage(
        run=run.name,
        key=key,
        headline=_headline(episode, rounds),
        facts=_facts(episode),
        doubts=episode.doubts,
        absent=episode.absent,
        lacks=tuple(_lacks(episode)),
        timeline=timeline(episode, broken),
        exchanges=tuple(shown),
        acts_left_out=len(acts) - len(shown),
        sections=episode.sections,
        grid=rounds,
        heard=heard(seats) if seats else None,
        seats=tuple(talk(one, episode, broken) for one in seats),
        talks=tuple(talk(one, episode, broken) for one in episode.conversations if one.seat is None),
        checks=episode.verdict.checks if episode.verdict else (),
        agent_log=cut_text(episode.agent_log) if episode.agent_log.strip() else None,
        instruction=cut_text(episode.instruction) if episode.instruction and not seats else None,
        rules=tuple(rules_said(key.family, key.task_id, episode.instruction)) if episode.instruction and not seats else (),
        files=tuple(files),
        seat_pages=tuple(seat_links(run.name, key, episode)),
        partners=tuple(partners),
        before=_neighbour(run.name, run.episodes[place - 1].key) if place else None,
        after=_neighbour(run.name, run.episodes[place + 1].key) if place < last else None,
        next_failed=_neighbour(run.name, failed) if failed else None,
    )


def seat_page_of(run: str, key: Key, episode: RecordedEpisode, seat: int) -> SeatPage | None:
    """Return the messages to and from one seat; None if the episode does not have it."""
    one = next((one for one in seated(episode) if one.seat == seat), None)
    if one is None:
        return None
    return SeatPage(
        run=run,
        key=key,
        talk=talk(one, episode, frozenset()),
        others=tuple(seat_links(run, key, episode)),
        episode=_neighbour(run, key),
    )


def seat_links(run: str, key: Key, episode: RecordedEpisode) -> list[PageLink]:
    """Return a link to the page of each seat."""
    folder = episode_page(run, key).removesuffix(".html")
    return [PageLink(page=f"{folder}/seat-{one.seat}.html", told=one.name) for one in seated(episode)]


def _neighbour(run: str, key: Key) -> PageLink:
    return PageLink(page=episode_page(run, key), told=episode_name(key))


def _headline(episode: RecordedEpisode, rounds: Grid | None) -> VerdictLine:
    result, breach = episode.result, episode.breach
    icon = "?" if result.status == "ungraded" else "✓" if result.success else "✗"
    label = result.failure_label or ("ungraded" if result.status == "ungraded" else "no label")
    is_act = breach is not None and any(act.seq == breach.seq for act in episode.acts)
    is_resolved = rounds is not None and any(row.is_breach for row in rounds.rows)
    anchor = f"act-{breach.seq}" if breach and is_act else "resolution" if is_resolved else ""
    turns = tuple(_turn_links(episode, breach.turns)) if breach else ()
    stopped = "" if result.success else result.stopped
    return VerdictLine(
        icon=icon, label=label, stopped=stopped, breach=breach, rule=breach_told(episode), anchor=anchor, turns=turns
    )


def _turn_links(episode: RecordedEpisode, turns: Sequence[int]) -> Iterator[PageLink]:
    for one in episode.conversations:
        for said in one.utterances:
            if said.moment is not None and said.speaker == "agent" and said.moment.seq in turns:
                told = f"{one.name}, round {said.moment.round}, {said.moment.phase}"
                yield PageLink(page=f"turn-{said.moment.seq}", told=told)


def _lacks(episode: RecordedEpisode) -> Iterator[str]:
    """Yield the sections that readers may expect and that are missing, with the reason."""
    asked = any(act.what in {"request", "wait"} for act in episode.acts)
    is_logged, is_game = "events.jsonl" not in episode.absent, bool(seated(episode))
    if not asked and not is_game:
        why = "the agent sent no request" if is_logged else "events.jsonl is missing"
        yield f"No requests{'' if episode.acts else ' and no timeline'}: {why}."
    if not any(said.speaker == "agent" for one in episode.conversations for said in one.utterances):
        by, is_script = episode.result.agent, episode.result.model is None
        yield f"No replies: {by} is a script, not a model." if is_script else f"No replies: none of {by} is recorded."


def _facts(episode: RecordedEpisode) -> tuple[ShownFact, ...]:
    """Return the facts below the headline: a name, the value, and a unit or note if there is one."""
    result = episode.result
    # an agent may have ended after a later request than the one that failed it; the later answer is not the cause
    is_later = result.error is not None and result.status == "graded" and any(act.label for act in episode.acts)
    cost = "" if not result.tokens.calls else "no price" if result.cost_usd is None else f"${result.cost_usd:.4f}"
    told = (
        ("reward", "" if result.reward is None else f"{result.reward:g}", "recovered" if result.recovered else ""),
        ("error", "" if is_later else result.error or "", ""),
        ("agent", result.agent, ""),
        ("model", result.model or "", ""),
        ("interface", result.interface or "", ""),
        ("runtime", result.runtime, ""),
        ("options", ", ".join(f"{name}={value}" for name, value in result.options.items()), ""),
        ("virtual time", f"{result.virtual_time_elapsed:g} s", f"{result.steps} steps" if result.steps else ""),
        ("real time", f"{result.timings.total:.1f} s", ""),
        ("stopped", result.stopped, ""),
        ("disturbed", "; ".join(disturbances_told(result)), ""),
        ("forfeits", "; ".join(forfeits_told(result.forfeits)), ""),
        ("model calls", str(result.tokens.calls) if result.tokens.calls else "", cost),
        ("tokens", f"{result.tokens.prompt:,} in, {result.tokens.completion:,} out" if result.tokens.calls else "", ""),
        ("retry", f"hint {result.hint.mode}, first label {result.hint.first_label}" if result.hint else "", ""),
        ("trace hash", result.trace_hash or "", ""),
        ("folder", episode.path, ""),
        ("later", f"the agent's client gave up: {result.error}" if is_later else "", ""),
    )
    return tuple(ShownFact(name=name, left=value, right=note) for name, value, note in told if value)
