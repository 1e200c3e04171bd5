"""The flags of `harness run` as a table of types, which `harness.cli.signatures` turns into options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.agent import PATIENCE_S, TIMEOUT_S
from harness.agent_factory import NAMES
from harness.cli.signatures import Flags, degrees, flag
from harness.cli.tasks import Json, Names, Trust
from harness.runs.request import BREAKER
from harness.runtime_choice import RUNTIMES

Seats = Annotated[list[str] | None, typer.Option("--seat", help="SEAT=WHO: another player or model at one seat of a game.")]
ApiBase = Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")]
Temperature = Annotated[
    Any,
    typer.Option(
        parser=degrees,
        metavar="FLOAT|default",
        help="Left out, and said so, where the model refuses it; default: the provider's own, nothing is sent.",
    ),
]
RuntimeName = Annotated[str, typer.Option(help=f"auto, {', '.join(RUNTIMES)}.")]
Options = Annotated[list[str] | None, typer.Option("--set", help="name=value: a world option or knob; repeatable.")]
Out = Annotated[Path | None, typer.Option(help="Folder of the run; runs/<time>-<tasks>-<who> unless given.")]


def _from_file(ctx: typer.Context, path: Path | None) -> Path | None:
    if path is not None:
        from harness.cli.config import read_config  # noqa: PLC0415

        read_config(ctx, path)
    return path


def _from_preset(ctx: typer.Context, name: str | None) -> str | None:
    if name is not None:
        from harness.cli.config import preset  # noqa: PLC0415

        _from_file(ctx, preset(name))
    return name


@dataclass(frozen=True)
class RunFlags(Flags):
    """The values of the flags of `harness run`; each field is an option."""

    names: Names = None
    model: str | None = flag(None, "Any LiteLLM model name, e.g. gpt-5 or openai/any; several joined by commas.")
    agent: str | None = flag(
        None, f"{', '.join(NAMES)}, or a family's seat player such as imap; several joined by commas; else oracle."
    )
    interface: str = flag("shell", "How a model acts: shell or tool.")
    protocol: str = flag("tools", "tools, or text for models without tool calls.")
    seat: Seats = None
    seat_model: list[str] | None = flag(None, "SEAT=MODEL: likewise, and always a model.", "--seat-model")
    rotate: bool = flag(False, "Move everybody on by one seat with each attempt.", "--rotate")
    team: str | None = flag(
        None, "A,B,C,D,E: as many players as seats, or one less and --entrant; seats are shared evenly.", "--team"
    )
    entrant: str | None = flag(None, "One more player of the team.")
    entrant_seat: int | None = flag(None, "Where the entrant sits in every game; moving, unless given.", min=0)
    variant: str | None = flag(None, "Appended to the rules of every seat: a name or a .md file.", "--variant")
    seat_variant: list[str] | None = flag(None, "SEAT=VARIANT: likewise, for one seat.", "--seat-variant")
    api_base: ApiBase = None
    temperature: Temperature = 0.0
    reply_tokens: int | None = flag(None, "Most completion tokens of one call.", min=1)
    context: int | None = flag(
        None, "Tokens of the model's context, for servers that do not say when it is full.", "--context", min=1
    )
    timeout: float = flag(TIMEOUT_S, "Seconds that one model call may be silent.", min=0.1)
    patience: float = flag(PATIENCE_S, "Seconds in which a failing model call is repeated.", "--patience", min=0)
    breaker: int = flag(BREAKER, "End the run when so many episodes in a row fail by their provider; 0 never does.", min=0)
    no_probe: bool = flag(
        False, "Begin without the small calls that try whether each model answers and sees tools.", "--no-probe"
    )
    cache: Path | None = flag(None, "Folder of model replies: what it holds is not asked again, what is new is put there.")
    record_wire: bool = flag(
        False, "Keep the raw requests and responses of all model calls, not only before a failure.", "--record-wire"
    )
    script: Path | None = flag(None, "JSON list of actions for the scripted agent.")
    runtime: RuntimeName = "auto"
    executor: str = flag("here", "here, or ray: the nodes of a Ray cluster play, at --address.", "--executor")
    address: str | None = flag(None, "Of the Ray cluster: HOST:PORT, or auto for the one on this machine.")
    k: int = flag(1, "Attempts at each instance.", "--k", "-k", min=1)
    seeds: str = flag("0", "Instances, e.g. 0-9 or 1,4,7.")
    key: str | None = flag(
        None, "Of the draws: one made for this run, or that of another run.", "--key", metavar="fresh|published|RUN"
    )
    options: Options = None
    mutate: list[str] | None = flag(
        None, "What the path does to the agent's bytes: clip=200, linewrap, decode, resort, visible."
    )
    handles: bool = flag(False, "Let @HANDLE:name stand for values that the agent stored.", "--handles")
    mitigate: list[str] | None = flag(None, "Help on the path: backoff, ttl.")
    templates: Path | None = flag(None, "Folder with texts in the place of a family's own; see harness export templates.")
    retry_of: Path | None = flag(None, "Play the failed episodes of this run again: its seeds and attempts, its options.")
    hint: str = flag("none", "What a retry is told of the failure: none, correct or wrong.", "--hint")
    until: str | None = flag(
        None, "Play A and B of this run task by task, and stop when it is clear which is better.", "--until", metavar="A-B"
    )
    alpha: float = flag(0.05, "The share of runs with --until that may decide wrongly.", "--alpha")
    workers: int = flag(2, "Episodes at once.", "--workers", "-n", min=1)
    wall: float | None = flag(None, "Real seconds an episode may take; 600 unless given, and in a game any number.", min=1)
    turns: int = flag(120, "Model turns an episode may take.", min=1)
    tokens: int | None = flag(None, "Tokens an episode may take.", min=1)
    cost: float | None = flag(None, "US dollars an episode may take.", min=0)
    max_cost: float | None = flag(None, "US dollars the whole run may take; what is left then can be resumed.", min=0)
    max_tokens: int | None = flag(None, "Tokens the whole run may take, in and out.", min=1)
    prices: Path | None = flag(None, 'TOML file: ["MODEL"] with input, output and cached, in US dollars per million tokens.')
    out: Out = None
    resume: Path | None = flag(
        None, "Go on with the run in this folder; its run.json says the rest. Seeds, attempts and budgets may be raised."
    )
    only: list[str] | None = flag(
        None, "With --resume: errored, unscored or a task; nothing that has a grade is played again.", "--only"
    )
    shard: str | None = flag(
        None, "Play the I-th of N equal shares of the plan, from 1; see harness merge.", "--shard", metavar="I/N"
    )
    env: list[str] | None = flag(None, "NAME of a variable of this host that a foreign task may be given.", "--env")
    trust: Trust = False
    dry_run: bool = flag(False, "Say what would be played, and what it would take; play nothing.", "--dry-run")
    report: bool = flag(False, "Print the tables of harness report when it is done.", "--report")
    yes: bool = flag(False, "Do not ask before running everything.", "--yes", "-y")
    json: Json = False
    jsonl: str | None = flag(
        None, "Add every event of the run, a JSON object a line; - is stdout.", "--jsonl", metavar="FILE|-"
    )
    verbose: bool = flag(False, "Say on stderr which phase of an episode begins, and its time.", "--verbose", "-v")
    config: Path | None = flag(None, "TOML file with flags as keys; flags typed here win.", is_eager=True, callback=_from_file)
    preset: str | None = flag(None, "A set-up of the papers by name, as --config.", is_eager=True, callback=_from_preset)
    print_config: bool = flag(False, "Print these flags as a file for --config; run nothing.", "--print-config")

    @property
    def file(self) -> str:
        """Name of the settings file in messages."""
        return str(self.config or f"the preset {self.preset}")
