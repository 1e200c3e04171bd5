"""The flags of `harness run` as a table of types, which `harness.cli.signatures` turns into options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from harness.agent import PATIENCE_S, TIMEOUT_S
from harness.agent_factory import NAMES
from harness.cli.signatures import Flags, degrees
from harness.cli.tasks import Json, Names, Trust
from harness.runs.request import BREAKER
from harness.runtime_choice import RUNTIMES

Model = Annotated[str | None, typer.Option(help="Any LiteLLM model name, e.g. gpt-5 or openai/any; several joined by commas.")]
AgentName = Annotated[
    str | None,
    typer.Option(help=f"{', '.join(NAMES)}, or a family's seat player such as imap; several joined by commas; else oracle."),
]
Interface = Annotated[str, typer.Option(help="How a model acts: shell or tool.")]
Protocol = Annotated[str, typer.Option(help="tools, or text for models without tool calls.")]
Seats = Annotated[list[str] | None, typer.Option("--seat", help="SEAT=WHO: another player or model at one seat of a game.")]
SeatModels = Annotated[list[str] | None, typer.Option("--seat-model", help="SEAT=MODEL: likewise, and always a model.")]
TeamNames = Annotated[
    str | None,
    typer.Option("--team", help="A,B,C,D,E: as many players as seats, or one less and --entrant; seats are shared evenly."),
]
Entrant = Annotated[str | None, typer.Option(help="One more player of the team.")]
EntrantSeat = Annotated[int | None, typer.Option(min=0, help="Where the entrant sits in every game; moving, unless given.")]
VariantName = Annotated[
    str | None, typer.Option("--variant", help="Appended to the rules of every seat: a name or a .md file.")
]
SeatVariants = Annotated[list[str] | None, typer.Option("--seat-variant", help="SEAT=VARIANT: likewise, for one seat.")]
Rotate = Annotated[bool, typer.Option("--rotate", help="Move everybody on by one seat with each attempt.")]
ApiBase = Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")]
Temperature = Annotated[
    Any,
    typer.Option(
        parser=degrees,
        metavar="FLOAT|default",
        help="Left out, and said so, where the model refuses it; default: the provider's own, nothing is sent.",
    ),
]
ReplyTokens = Annotated[int | None, typer.Option(min=1, help="Most completion tokens of one call.")]
ContextTokens = Annotated[
    int | None,
    typer.Option("--context", min=1, help="Tokens of the model's context, for servers that do not say when it is full."),
]
Prices = Annotated[
    Path | None, typer.Option(help='TOML file: ["MODEL"] with input, output and cached, in US dollars per million tokens.')
]
MaxCost = Annotated[
    float | None, typer.Option(min=0, help="US dollars the whole run may take; what is left then can be resumed.")
]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Tokens the whole run may take, in and out.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds that one model call may be silent.")]
PatienceFor = Annotated[float, typer.Option("--patience", min=0, help="Seconds in which a failing model call is repeated.")]
Breaker = Annotated[
    int, typer.Option(min=0, help="End the run when so many episodes in a row fail by their provider; 0 never does.")
]
NoProbe = Annotated[
    bool, typer.Option("--no-probe", help="Begin without the small calls that try whether each model answers and sees tools.")
]
Cache = Annotated[
    Path | None, typer.Option(help="Folder of model replies: what it holds is not asked again, what is new is put there.")
]
ActionsFile = Annotated[Path | None, typer.Option(help="JSON list of actions for the scripted agent.")]
ExecutorName = Annotated[str, typer.Option("--executor", help="here, or ray: the nodes of a Ray cluster play, at --address.")]
ClusterAddress = Annotated[str | None, typer.Option(help="Of the Ray cluster: HOST:PORT, or auto for the one on this machine.")]
RuntimeName = Annotated[str, typer.Option(help=f"auto, {', '.join(RUNTIMES)}.")]
UntilClear = Annotated[
    str | None,
    typer.Option(
        "--until", metavar="A-B", help="Play A and B of this run task by task, and stop when it is clear which is better."
    ),
]
AlphaLevel = Annotated[float, typer.Option("--alpha", help="The share of runs with --until that may decide wrongly.")]
Attempts = Annotated[int, typer.Option("--k", "-k", min=1, help="Attempts at each instance.")]
Seeds = Annotated[str, typer.Option(help="Instances, e.g. 0-9 or 1,4,7.")]
EditionKey = Annotated[
    str | None,
    typer.Option("--key", metavar="fresh|published|RUN", help="Of the draws: one made for this run, or that of another run."),
]
Options = Annotated[list[str] | None, typer.Option("--set", help="name=value: a world option or knob; repeatable.")]
Templates = Annotated[
    Path | None, typer.Option(help="Folder with texts in the place of a family's own; see harness export templates.")
]
Workers = Annotated[int, typer.Option("--workers", "-n", min=1, help="Episodes at once.")]
Wall = Annotated[
    float | None, typer.Option(min=1, help="Real seconds an episode may take; 600 unless given, and in a game any number.")
]
Turns = Annotated[int, typer.Option(min=1, help="Model turns an episode may take.")]
TokenBudget = Annotated[int | None, typer.Option(min=1, help="Tokens an episode may take.")]
CostBudget = Annotated[float | None, typer.Option(min=0, help="US dollars an episode may take.")]
Mutate = Annotated[
    list[str] | None, typer.Option(help="What the path does to the agent's bytes: clip=200, linewrap, decode, resort, visible.")
]
Handles = Annotated[bool, typer.Option("--handles", help="Let @HANDLE:name stand for values that the agent stored.")]
Mitigate = Annotated[list[str] | None, typer.Option(help="Help on the path: backoff, ttl.")]
RetryOf = Annotated[
    Path | None, typer.Option(help="Play the failed episodes of this run again: its seeds and attempts, its options.")
]
HintName = Annotated[str, typer.Option("--hint", help="What a retry is told of the failure: none, correct or wrong.")]
Env = Annotated[
    list[str] | None,
    typer.Option("--env", help="NAME of a variable of this host that a foreign task may be given."),
]
Out = Annotated[Path | None, typer.Option(help="Folder of the run; runs/<time>-<tasks>-<who> unless given.")]
Resume = Annotated[
    Path | None,
    typer.Option(
        help="Go on with the run in this folder; its run.json says the rest. Seeds, attempts and budgets may be raised."
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", help="With --resume: errored, unscored or a task; nothing that has a grade is played again."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be played, and what it would take; play nothing.")]
EventStream = Annotated[
    str | None, typer.Option("--jsonl", metavar="FILE|-", help="Add every event of the run, a JSON object a line; - is stdout.")
]
ShardOf = Annotated[
    str | None,
    typer.Option("--shard", metavar="I/N", help="Play the I-th of N equal shares of the plan, from 1; see harness merge."),
]
Report = Annotated[bool, typer.Option("--report", help="Print the tables of harness report when it is done.")]
RecordWire = Annotated[
    bool,
    typer.Option("--record-wire", help="Keep the raw requests and responses of all model calls, not only before a failure."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before running everything.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say on stderr which phase of an episode begins, and its time.")]


def _from_file(ctx: typer.Context, path: Path | None) -> Path | None:
    if path is not None:
        from harness.cli.config import kind_of, read_config  # noqa: PLC0415

        read_config(ctx, path, {name: kind_of(annotation) for name, annotation in get_type_hints(RunFlags).items()})
    return path


def _from_preset(ctx: typer.Context, name: str | None) -> str | None:
    if name is not None:
        from harness.cli.config import preset  # noqa: PLC0415

        _from_file(ctx, preset(name))
    return name


Config = Annotated[
    Path | None, typer.Option(is_eager=True, callback=_from_file, help="TOML file with flags as keys; flags typed here win.")
]
Preset = Annotated[
    str | None, typer.Option(is_eager=True, callback=_from_preset, help="A set-up of the papers by name, as --config.")
]
PrintConfig = Annotated[bool, typer.Option("--print-config", help="Print these flags as a file for --config; run nothing.")]


@dataclass(frozen=True)
class RunFlags(Flags):
    """The values of the flags of `harness run`; each field is an option of the type defined above."""

    names: Names = None
    model: Model = None
    agent: AgentName = None
    interface: Interface = "shell"
    protocol: Protocol = "tools"
    seat: Seats = None
    seat_model: SeatModels = None
    rotate: Rotate = False
    team: TeamNames = None
    entrant: Entrant = None
    entrant_seat: EntrantSeat = None
    variant: VariantName = None
    seat_variant: SeatVariants = None
    api_base: ApiBase = None
    temperature: Temperature = 0.0
    reply_tokens: ReplyTokens = None
    context: ContextTokens = None
    timeout: Timeout = TIMEOUT_S
    patience: PatienceFor = PATIENCE_S
    breaker: Breaker = BREAKER
    no_probe: NoProbe = False
    cache: Cache = None
    record_wire: RecordWire = False
    script: ActionsFile = None
    runtime: RuntimeName = "auto"
    executor: ExecutorName = "here"
    address: ClusterAddress = None
    k: Attempts = 1
    seeds: Seeds = "0"
    key: EditionKey = None
    options: Options = None
    mutate: Mutate = None
    handles: Handles = False
    mitigate: Mitigate = None
    templates: Templates = None
    retry_of: RetryOf = None
    hint: HintName = "none"
    until: UntilClear = None
    alpha: AlphaLevel = 0.05
    workers: Workers = 2
    wall: Wall = None
    turns: Turns = 120
    tokens: TokenBudget = None
    cost: CostBudget = None
    max_cost: MaxCost = None
    max_tokens: MaxTokens = None
    prices: Prices = None
    out: Out = None
    resume: Resume = None
    only: Only = None
    shard: ShardOf = None
    env: Env = None
    trust: Trust = False
    dry_run: DryRun = False
    report: Report = False
    yes: Yes = False
    json: Json = False
    jsonl: EventStream = None
    verbose: Verbose = False
    config: Config = None
    preset: Preset = None
    print_config: PrintConfig = False

    @property
    def file(self) -> str:
        """Name of the settings file in messages."""
        return str(self.config or f"the preset {self.preset}")
