"""The commands `harness generate hidden-profile` and `harness generate deals` (docs/hidden-profile.md).

`hidden-profile`: a model writes candidates, checks and trial sessions select them, and the accepted ones become folders.
`deals`: authors write cards; the deals are found, written into the file, and proved independently.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from harness.agents.llm.model import ModelClient, ModelSettings
from harness.cli.tasks import Json
from harness.errors import GateFailed, UsageError
from harness.limits import RECORD_BYTES
from harness.output import emit, say
from harness.registry import select, survey, tasks_root
from harness.safe_read import read_given
from harness.tables import show_table
from oracles.hidden_profile.dealing import MAX_DEALS, count_refusals, find_deals
from oracles.hidden_profile.decks import DeckProof, measure_hands, prove_deck
from parley.commands.judge_flags import ApiBase, Cost, Yes, agreed_to
from parley.families.hidden_profile.authoring.drafts import TRACKS, examples
from parley.families.hidden_profile.authoring.generation import (
    FILE,
    SESSIONS,
    CandidateRecord,
    GenerationRequest,
    Team,
    estimate,
    generate,
    made,
)
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import CUES, DECK, Deck, Draws, with_cues
from worlds.hidden_profile.rules.scenario import first_error


def generate_deals(
    ctx: typer.Context,
    what: Annotated[str, typer.Argument(help="Task, or path of a scenario.json, which may lack deals.", metavar="TASK|FILE")],
    most: Annotated[int, typer.Option(min=4, max=99, help="Maximum number of deals of each kind.")] = MAX_DEALS,
    keep: Annotated[bool, typer.Option("--keep", help="Check the existing deals, and write nothing.")] = False,
    json: Json = False,
) -> None:
    """Find the deals of a deck in which the facts of no single person reveal the right option, and write them."""
    path = Path(what) if what.endswith(".json") else _file_of(ctx.obj["tasks"], what)
    deck = read_draft(path)
    try:
        dealt = deck if keep else deck.model_copy(update={"deals": find_deals(deck, most)})
        proof = prove_deck(dealt)
    except ValueError as error:
        say("\n".join(f"{count} choices of texts: {reason}" for reason, count in count_refusals(deck).most_common()))
        raise GateFailed(f"{path}: {error}") from None
    if not keep:
        path.write_text(dealt.to_json(with_cues=not path.with_name(CUES).exists()), encoding="utf-8")
    _show(dealt, proof, json=json)
    if not proof.is_certified:
        raise GateFailed(f"{path}: {', '.join(proof.failed_checks)} fail")
    say(f"{path}: certified; update the task's other files with harness sync, and check it with harness verify")


def _file_of(tasks: Path | None, name: str) -> Path:
    known = survey(tasks_root(tasks))
    chosen = select(known.tasks, [name], known.refused)
    if len(chosen) != 1:
        raise UsageError(f"{name} matches {len(chosen)} tasks; name a single task")
    return chosen[0].world_folder / SCENARIO


def _show(deck: Deck, proof: DeckProof, *, json: bool) -> None:
    """Print the information in each hand, and the checks."""
    known = measure_hands(Draws(deck))
    if json:
        told = [{"seat": tell.seat, "informed": float(tell.informed), "hidden": float(tell.hidden)} for tell in known]
        checks = [check.model_dump() for check in proof.checks]
        emit({"id": deck.id, "deals": deck.deals.model_dump(), "tells": told, "checks": checks})
        return
    hands = [[tell.seat, f"{float(tell.informed):.3f}", f"{float(tell.hidden):.3f}"] for tell in known]
    show_table(["hand", "(a) J", "(b) hidden keys"], hands)
    show_table(["check", "holds", "why not"], [[one.name, "yes" if one.ok else "NO", one.detail] for one in proof.checks])


def read_draft(path: Path) -> Deck:
    """Return a deck with its cues, whose file may lack deals. Raises UsageError for a missing file, or if it is no deck."""
    try:
        document: dict[str, Any] = json.loads(read_given(path, RECORD_BYTES))
        if document.get("schema") != DECK:
            raise UsageError(f"{path} has the schema {document.get('schema')!r}, but only {DECK} has deals")
        nought = "0" * sum(len(card["texts"]) > 1 for card in document["cards"])
        return with_cues(Deck.model_validate({"deals": {"hidden": [nought], "manifest": [nought]}} | document), path)
    except ValidationError as error:
        raise UsageError(f"{path}: {first_error(error)}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} is not a deck: {type(error).__name__}: {error}") from None


EXAMPLE = "harness generate hidden-profile --model gpt-5 --candidates 200 --out generated/hidden-profile"
GENERATED = Path("generated/hidden-profile")
TEMPERATURE = 1.0
"""Temperature of the writer, so that repeated requests vary. The judge plays as in any run."""


def generate_hidden_profile(
    ctx: typer.Context,
    model: Annotated[str | None, typer.Option(help="Model that writes, as LiteLLM names it.")] = None,
    judge: Annotated[
        str | None, typer.Option(help="Model that plays the candidates in trial sessions. Default: --model, as published.")
    ] = None,
    api_base: ApiBase = None,
    track: Annotated[
        str,
        typer.Option(
            "--format", help="Format of the tasks: formal (decks, certified) or text (the paper's prose, uncertified)."
        ),
    ] = "formal",
    candidates: Annotated[
        int, typer.Option(min=1, max=999, help="Number of candidates. An interrupted command continues where it stopped.")
    ] = 200,
    sessions: Annotated[int, typer.Option(min=1, max=100, help="Sessions per condition and kind of deal.")] = SESSIONS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the outlines and the sessions.")] = 0,
    workers: Annotated[int, typer.Option("--workers", "-n", min=1, help="Sessions at the same time.")] = 4,
    out: Annotated[Path | None, typer.Option(help=f"Folder for the task folders. Default: {GENERATED}.")] = None,
    cost: Cost = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Have a model write and play hidden profiles: certified decks, or uncertified prose."""
    if model is None:
        raise UsageError("--model is missing, the model that writes the tasks", hint=EXAMPLE)
    if track not in TRACKS:
        raise UsageError(f"--format must be one of {', '.join(TRACKS)}, not {track!r}", hint=EXAMPLE)
    team = Team(
        ModelClient(ModelSettings(model, api_base=api_base, temperature=TEMPERATURE)),
        ModelClient(ModelSettings(judge or model, api_base=api_base)),
        examples(tasks_root(ctx.obj["tasks"]) / "hidden-profile"),
    )
    if not cost:
        team.writer.check()
        team.judge.check()
    folder = out or GENERATED
    request = GenerationRequest(track, candidates, sessions, seed, workers)
    if not _agreed_to(request, team, folder, cost=cost, yes=yes, json=json):
        return
    summary = generate(request, team, folder, lambda record: say(_line(record, request)))
    _sum_up(summary, folder, json=json)
    if not summary["passed"]:
        raise GateFailed(f"none of {summary['generated']} candidates passed; the reasons are in {folder / FILE}")


def _agreed_to(request: GenerationRequest, team: Team, folder: Path, *, cost: bool, yes: bool, json: bool) -> bool:
    """Print the remaining cost, and return True if it is confirmed. Raises Cancelled or UsageError if it is not."""
    left = estimate(request, team.pool, made(folder))
    say(f"at most {left.calls} model calls, about {left.tokens // 1000} thousand tokens; each vote is requested at most twice")
    if cost and json:
        emit({"calls": left.calls, "tokens": left.tokens})
    return agreed_to(left.calls, "make these calls?", cost=cost, yes=yes)


def _line(record: CandidateRecord, request: GenerationRequest) -> str:
    """Return a candidate in one line."""
    why = "; ".join(f"{name}: {reason}" for name, reason in record.reasons.items())
    kept = f"{record.name} passed{'' if request.certified else ', uncertified'}"
    what = kept if record.stage == "passed" else f"rejected, {why[:200]}"
    return f"candidate {record.number} of {request.candidates}: {what}"


def _sum_up(summary: dict[str, Any], folder: Path, *, json: bool) -> None:
    if json:
        emit(summary)
        return
    rejected = [[f"rejected by {name}", number] for name, number in summary["rejected"].items()]
    dollars = "no known price" if summary["dollars"] is None else f"{summary['dollars']:.2f}"
    published = summary["published_rate"]
    beside = "" if published is None else f" (published: {published:.1%})"
    rows = [
        ["generated", summary["generated"]], ["malformed", summary["malformed"]], *rejected, ["passed", summary["passed"]],
        ["rate", f"{summary['rate']:.1%}{beside}"], ["calls", summary["calls"]], ["dollars", dollars],
    ]  # fmt: skip
    show_table(["what", "number"], rows)
    standing = "certified" if summary["certified"] else "uncertified"
    say(f"{summary['passed']} {standing} tasks in {folder}; all candidates, with reasons: {folder / FILE}")


KINDS = {"hidden-profile": generate_hidden_profile, "deals": generate_deals}
