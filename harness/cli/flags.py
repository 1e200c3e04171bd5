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

Seats = Annotated[
    list[str] | None,
    typer.Option("--seat", help="SEAT=WHO: player or model at one seat of a game, such as 3=gpt-4o. Repeatable."),
]
ApiBase = Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")]
Temperature = Annotated[
    Any,
    typer.Option(
        parser=degrees,
        metavar="FLOAT|default",
        help="Sampling temperature, or default to send none. Omitted, with a notice, for models that reject it.",
    ),
]
RuntimeName = Annotated[
    str, typer.Option(help=f"Isolation of episodes: {', '.join(RUNTIMES)}, or auto for the first that works.")
]
Options = Annotated[
    list[str] | None, typer.Option("--set", help="NAME=VALUE: set an option of the task (harness show lists them). Repeatable.")
]
Out = Annotated[Path | None, typer.Option(help="Folder of the run. Default: runs/<time>-<tasks>-<who>.")]


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
    model: str | None = flag(
        None, "Model that plays, as LiteLLM names it, such as gpt-5 or openai/any. Join several with commas."
    )
    agent: str | None = flag(
        None,
        f"Agent that plays: {', '.join(NAMES)}, or a scripted player of a game such as imap. Join several with commas. "
        "Default: llm with --model, scripted with --script, else oracle.",
    )
    interface: str = flag("shell", "Interface of a model: shell (commands in a sandbox) or tool (three tools).")
    protocol: str = flag("tools", "Format of a model's actions: tools (tool calls), or text for models without tool calls.")
    seat: Seats = None
    seat_model: list[str] | None = flag(
        None, "SEAT=MODEL: like --seat, but the name is always taken as a model.", "--seat-model"
    )
    rotate: bool = flag(False, "Move every player by one seat with each attempt.", "--rotate")
    team: str | None = flag(
        None,
        "A,B,C,D,E: one player per seat, or one fewer with --entrant. Each player plays each seat about equally often.",
        "--team",
    )
    entrant: str | None = flag(None, "Additional player that joins the team.")
    entrant_seat: int | None = flag(None, "Fixed seat of the entrant. Default: it changes from game to game.", min=0)
    variant: str | None = flag(
        None, "Prompt variant, by name or as a .md file, that is appended to the rules of every seat.", "--variant"
    )
    seat_variant: list[str] | None = flag(None, "SEAT=VARIANT: like --variant, for one seat.", "--seat-variant")
    api_base: ApiBase = None
    temperature: Temperature = 0.0
    reply_tokens: int | None = flag(None, "Maximum completion tokens per model call.", min=1)
    context: int | None = flag(
        None, "Context size of the model in tokens, for servers that do not report that it is full.", "--context", min=1
    )
    timeout: float = flag(TIMEOUT_S, "Timeout of a model call, in seconds without data from the server.", min=0.1)
    patience: float = flag(PATIENCE_S, "Seconds during which a failing model call is retried.", "--patience", min=0)
    breaker: int = flag(
        BREAKER, "Stop the run after this many episodes in a row that failed because of the provider. 0 disables this.", min=0
    )
    no_probe: bool = flag(False, "Skip the test calls that check that each model answers and can call tools.", "--no-probe")
    cache: Path | None = flag(None, "Folder of model replies. Recorded replies are reused, and new ones are added.")
    record_wire: bool = flag(
        False,
        "Record the raw requests and responses of all model calls. Default: only the last calls before a failure.",
        "--record-wire",
    )
    script: Path | None = flag(None, "JSON file with the list of actions for the scripted agent.")
    runtime: RuntimeName = "auto"
    executor: str = flag("here", "Where episodes run: on this machine (here) or on a Ray cluster (ray).", "--executor")
    address: str | None = flag(None, "Address of the Ray cluster: HOST:PORT, or auto for the one on this machine.")
    k: int = flag(1, "Attempts at each task and seed.", "--k", "-k", min=1)
    seeds: str = flag("0", "Seeds of the instances, such as 0-9 or 1,4,7.")
    key: str | None = flag(
        None,
        "Key of the random values in instances: a new one, the public one, or that of another run. "
        "Default: PARLEY_KEY, else published.",
        "--key",
        metavar="fresh|published|RUN",
    )
    options: Options = None
    control: list[str] | None = flag(
        None, "NAME=VALUE: play everything once more with this option changed. Repeatable.", "--control"
    )
    no_control: bool = flag(False, "Leave out the controls of a preset.", "--no-control")
    mutate: list[str] | None = flag(
        None, "Change messages: clip=200, linewrap, decode, resort, visible (see docs/contract.md). Repeatable."
    )
    handles: bool = flag(False, "Let the agent store values, and write @HANDLE:name in requests in their place.", "--handles")
    mitigate: list[str] | None = flag(
        None,
        "Help the agent: backoff waits as Retry-After or a quota requires, ttl adds X-Expires-In to responses. Repeatable.",
    )
    templates: Path | None = flag(
        None, "Folder of texts that replace the family's own. Create it with harness export templates."
    )
    retry_of: Path | None = flag(None, "Retry the failed episodes of this run, with the same seeds, attempts and options.")
    hint: str = flag("none", "Hint that --retry-of gives about the failure: none, correct or wrong.", "--hint")
    until: str | None = flag(
        None, "Play agents A and B task by task, and stop when it is clear which one is better.", "--until", metavar="A-B"
    )
    alpha: float = flag(0.05, "Error probability of --until.", "--alpha")
    workers: int = flag(2, "Episodes that run at the same time.", "--workers", "-n", min=1)
    wall: float | None = flag(None, "Limit on the real seconds of an episode. Default: 600; no limit in games.", min=1)
    turns: int = flag(120, "Limit on the model turns of an episode.", min=1)
    tokens: int | None = flag(None, "Limit on the tokens of an episode.", min=1)
    cost: float | None = flag(None, "Limit on the US dollars of an episode.", min=0)
    max_cost: float | None = flag(None, "Stop the run at this many US dollars. The remaining episodes can be resumed.", min=0)
    max_tokens: int | None = flag(
        None, "Stop the run at this many tokens, input plus output. The remaining episodes can be resumed.", min=1
    )
    prices: Path | None = flag(
        None, 'TOML file with a table ["MODEL"] for each model: input, output and cached, in US dollars per million tokens.'
    )
    out: Out = None
    resume: Path | None = flag(
        None, "Continue the run in this folder, with the settings in its run.json. Seeds, attempts and budgets may be raised."
    )
    only: list[str] | None = flag(
        None,
        "Episodes that --resume plays: errored (played without a grade), unscored (no grade, played or not), or a task. "
        "Graded episodes are never replayed.",
        "--only",
    )
    shard: str | None = flag(
        None,
        "Play the I-th of N equal shards of the plan, counted from 1. Combine them with harness merge.",
        "--shard",
        metavar="I/N",
    )
    env: list[str] | None = flag(None, "Name of a host variable to pass to a task from another project. Repeatable.", "--env")
    trust: Trust = False
    dry_run: bool = flag(False, "Print the plan and its estimated cost, without playing it.", "--dry-run")
    report: bool = flag(False, "Print the tables of harness report at the end.", "--report")
    yes: bool = flag(False, "Run all tasks without confirmation.", "--yes", "-y")
    json: Json = False
    jsonl: str | None = flag(
        None,
        "Append every event of the run to this file, one JSON object per line. - means stdout.",
        "--jsonl",
        metavar="FILE|-",
    )
    verbose: bool = flag(False, "Log each phase of an episode and its duration to stderr.", "--verbose", "-v")
    config: Path | None = flag(
        None, "TOML file with flags as keys. Flags on the command line override it.", is_eager=True, callback=_from_file
    )
    preset: str | None = flag(
        None, "Named settings that reproduce a published set-up. Works like --config.", is_eager=True, callback=_from_preset
    )
    print_config: bool = flag(False, "Print these flags as a file for --config, without a run.", "--print-config")

    @property
    def file(self) -> str:
        """Name of the settings file in messages."""
        return str(self.config or f"the preset {self.preset}")
