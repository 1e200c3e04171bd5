"""`harness generate hidden-profile`: a model writes candidates, a gate tries them, the good ones become folders.

In the format `formal` each is proved before it is tried; prose proves nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from harness.agents.llm.model import ModelClient, ModelSettings
from harness.console import emit, say, show_table
from harness.errors import GateFailed, UsageError
from harness.families.hidden_profile.authoring.drafts import TRACKS, examples
from harness.families.hidden_profile.authoring.gate import SESSIONS
from harness.families.hidden_profile.authoring.generation import GenerationRequest, Team, generate
from harness.families.hidden_profile.authoring.ledger import FILE, CandidateRecord
from harness.families.hidden_profile.commands.deals import generate_deals
from harness.registry import tasks_root

EXAMPLE = "harness generate hidden-profile --model gpt-5 --candidates 200 --out generated/hidden-profile"
GENERATED = Path("generated/hidden-profile")
TEMPERATURE = 1.0
"""Of the model that writes: asked again, it should say something else. The judge plays as in any run."""

Model = Annotated[str | None, typer.Option(help="The model that writes, as LiteLLM names it.")]
Judge = Annotated[str | None, typer.Option(help="The model that tries candidates; as published --model, unless given.")]
ApiBase = Annotated[str | None, typer.Option("--api-base", help="Base URL of an OpenAI-compatible server.")]
Track = Annotated[str, typer.Option("--format", help="formal (proved outlines in words), or text (prose).")]
Candidates = Annotated[int, typer.Option(min=1, max=999, help="How many to make; a run goes on where it stopped.")]
Sessions = Annotated[int, typer.Option(min=1, max=100, help="Sessions in each condition.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the outlines and the sessions.")]
Workers = Annotated[int, typer.Option("--workers", "-n", min=1, help="Sessions at once.")]
Out = Annotated[Path | None, typer.Option(help=f"Folder of the task folders; {GENERATED} unless given.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def generate_hidden_profile(
    ctx: typer.Context,
    model: Model = None,
    judge: Judge = None,
    api_base: ApiBase = None,
    track: Track = "formal",
    candidates: Candidates = 200,
    sessions: Sessions = SESSIONS,
    seed: Seed = 0,
    workers: Workers = 4,
    out: Out = None,
    json: Json = False,
) -> None:
    """Hidden profiles that a model writes and plays."""
    if model is None:
        raise UsageError("somebody must write the tasks: name a model", hint=EXAMPLE)
    if track not in TRACKS:
        raise UsageError(f"--format must be one of {', '.join(TRACKS)}, not {track!r}", hint=EXAMPLE)
    team = Team(
        ModelClient(ModelSettings(model, api_base=api_base, temperature=TEMPERATURE)),
        ModelClient(ModelSettings(judge or model, api_base=api_base)),
        examples(tasks_root(ctx.obj["tasks"]) / "hidden-profile"),
    )
    for client in (team.writer, team.judge):
        client.check()
    folder = out or GENERATED
    request = GenerationRequest(track, candidates, sessions, seed, workers)
    made = generate(request, team, folder, lambda record: say(_line(record, candidates)))
    _sum_up(made, folder, json=json)
    if not made["passed"]:
        raise GateFailed(f"none of {made['generated']} candidates would do; {folder / FILE} says why")


def _line(record: CandidateRecord, candidates: int) -> str:
    """One candidate in a line."""
    why = "; ".join(f"{name}: {reason}" for name, reason in record.reasons.items())
    what = f"{record.name} passed" if record.stage == "passed" else f"rejected, {why[:200]}"
    return f"candidate {record.number} of {candidates}: {what}"


def _sum_up(made: dict[str, Any], folder: Path, *, json: bool) -> None:
    if json:
        emit(made)
        return
    rejected = [[f"rejected by {name}", number] for name, number in made["rejected"].items()]
    dollars = "no known price" if made["dollars"] is None else f"{made['dollars']:.2f}"
    rows = [
        ["generated", made["generated"]], ["malformed", made["malformed"]], *rejected, ["passed", made["passed"]],
        ["rate", f"{made['rate']:.1%}"], ["calls", made["calls"]], ["dollars", dollars],
    ]  # fmt: skip
    show_table(["what", "number"], rows)
    say(f"{made['passed']} tasks in {folder}; all candidates, with reasons: {folder / FILE}")


KINDS = {"hidden-profile": generate_hidden_profile, "deals": generate_deals}
