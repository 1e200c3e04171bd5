"""The command line: one table of commands, each in a module that is imported only when the command is used.

Results (tables, findings, data) go to stdout; progress, notes and errors go to stderr.

Exit codes: 0 done, 1 gate failed, 2 usage or config, 3 infrastructure errors, 4 invalid task; 130 interrupted,
143 by TERM, 129 by HUP.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.interrupts import stop_signals
from harness.plugins import plugin
from harness.refusals import Cancelled
from worlds.core.errors import ParleyError

HEADINGS: dict[str, dict[str, tuple[str, str]]] = {
    "Play": {
        "list": ("harness.cli.listing", "List tasks, all or by name, glob or family."),
        "show": ("parley.commands.show", "Show a task, a recorded episode, or the episodes of a run."),
        "run": ("harness.cli.run", "Run tasks with an agent or a model, and record every episode."),
        "host": ("parley.commands.host", "Host a game for a group of people, each on a web page."),
        "merge": ("parley.commands.packing", "Combine the shards of a run (run --shard) into one run."),
    },
    "Read results": {
        "view": ("parley.commands.view", "Read runs in a browser, or write their pages into a folder."),
        "report": ("parley.commands.report", "Summarize runs in five lines, or print tables (--table all)."),
        "compare": ("parley.commands.compare", "Compare two runs, and exit with 1 if the second one is worse."),
        "leaderboard": ("parley.commands.report", "Rank models over all families, with intervals for the ranks."),
        "runs": ("parley.commands.runs", "List the runs in a folder, with player, progress and cost."),
        "audit": ("parley.commands.kinds", "Measure what the messages of recorded games disclose."),
        "export": ("parley.commands.export", "Export tasks and episodes to the formats of other tools."),
        "replay": ("parley.commands.replay", "Replay games from traces, and compare the recorded results."),
        "models": ("parley.commands.models", "List the models that reports know by name."),
    },
    "Make tasks": {
        "new": ("parley.commands.authoring", "Create a task folder that passes harness verify."),
        "sync": ("parley.commands.authoring", "Update the generated files of task folders from templates."),
        "verify": ("parley.commands.verify", "Check tasks: lint, oracle, nop, wrong clients, determinism."),
        "generate": ("parley.commands.kinds", "Generate tasks, or parts of them, by code or with a model."),
        "import": ("parley.commands.kinds", "Import scenarios and traces of other benchmarks."),
        "release": ("parley.commands.authoring", "Write a release's list of tasks, which complete runs cover."),
    },
    "Housekeeping": {
        "doctor": ("parley.commands.doctor", "Check the runtimes of this machine, or a model's server."),
        "images": ("parley.commands.doctor", "Build the base images and the images of tasks."),
        "pack": ("parley.commands.packing", "Pack a run into one file, which every command can read."),
        "unpack": ("parley.commands.packing", "Restore the folder of a packed run, byte for byte."),
        "clean": ("parley.commands.clean", "List leftovers of dead runs, and remove them if you confirm."),
    },
}
"""Under each heading of `harness --help`, for each command the module that holds its function, and its one line of help.

Other names are looked up among the entry points `parley.commands`.
"""

COMMANDS = {name: entry for commands in HEADINGS.values() for name, entry in commands.items()}

_KEY_NOT_CERTAIN = {"--api-base", "--config", "--resume", "--executor", "--dry-run", "--print-config", "--help"}
"""Options of `harness run` with which a key may come from elsewhere, or is not needed."""


class LazyGroup(typer.core.TyperGroup):
    """Command group that prints help without importing command modules."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the real command if it is going to run, or a placeholder with its help if it is only listed."""
        if cmd_name not in COMMANDS:
            brought = plugin("commands", cmd_name)
            return brought and _command(cmd_name, brought, None)
        module, help_line = COMMANDS[cmd_name]
        if cmd_name not in [*sys.argv[1:], *_being_completed()]:
            return typer.core.TyperCommand(cmd_name, help=help_line)
        if cmd_name == "run" and cmd_name in sys.argv[1:]:
            _require_keys(sys.argv[1:])
        return _command(cmd_name, getattr(importlib.import_module(module), f"{cmd_name}_command"), help_line)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, and then the commands."""
        _write_options(self, ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each heading with its commands."""
        width = max(map(len, COMMANDS))
        for heading, commands in HEADINGS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{width}}", line) for name, (_, line) in commands.items()])

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and convert an interrupt to Cancelled."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Cancelled("interrupted") from None


def _being_completed() -> list[str]:
    """Return the words of the command line that a shell completes, as bash and other shells pass them."""
    return [word for name in ("COMP_WORDS", "_TYPER_COMPLETE_ARGS") for word in os.environ.get(name, "").split()]


def _require_keys(words: Sequence[str]) -> None:
    """Raise UsageError for a model whose API key is certainly needed and not set, before the command itself is imported."""
    if _KEY_NOT_CERTAIN & {word.partition("=")[0] for word in words}:
        return
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == "--model":
            from harness.agents.llm.model_table import require_key  # noqa: PLC0415 - no model plays as a rule

            for model in (value if equals else "".join(words[place + 1 : place + 2])).split(","):
                require_key(model)


def _command(name: str, implementation: Any, help_line: str | None) -> Any:
    """Return a function as a command; a command with kinds of its own becomes a group."""
    if isinstance(implementation, typer.Typer):
        group = typer.main.get_command(implementation)
        group.name, group.help = name, help_line
        return _with_own_help(group)
    command = typer.Typer(add_completion=False, rich_markup_mode=None)
    command.command(name=name, help=help_line)(implementation)
    return _with_own_help(typer.main.get_command(command))


def _with_own_help(command: Any) -> Any:
    """Return a command or group whose help is written by `harness.cli.help`."""
    command.format_options = partial(_write_options, command)
    for inner in command.commands.values() if isinstance(command, typer.core.TyperGroup) else ():
        _with_own_help(inner)
    return command


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    from harness.cli.help import write_options  # noqa: PLC0415 - a command that runs needs none

    write_options(command, ctx, formatter)


def _show_version(asked: bool) -> None:
    if asked:
        from harness.version import version_line  # noqa: PLC0415 - asks git

        print(f"harness {version_line()}")
        raise typer.Exit(0)


app = typer.Typer(
    cls=LazyGroup, no_args_is_help=True, add_completion=True, rich_markup_mode=None, pretty_exceptions_enable=False
)


@app.callback()
def harness(
    ctx: typer.Context,
    tasks: Annotated[
        Path | None,
        typer.Option(
            help="Folder of tasks. Default: PARLEY_TASKS, tasks/ here or in a parent folder, this folder, or Parley's own."
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each phase and its duration to stderr.")] = False,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and the commit.")
    ] = False,
) -> None:
    """Measure whether AI agents can be trusted with delegated work."""
    del version
    ctx.obj = {"tasks": tasks}
    if verbose:
        from harness.verbose import log_to_stderr  # noqa: PLC0415 - help needs no tables

        log_to_stderr()


def main() -> None:
    """Run the `harness` command; print our own errors as one line with a hint, and exit with their code.

    INT, TERM and HUP all stop it from the start; repeated signals have no effect while it stops. Regardless of the user's
    umask, no created file (runs, caches, exports) is writable by others.
    """
    os.umask(os.umask(0o022) | 0o022)
    stop_signals.obey()
    # imported modules are never garbage; scanning them takes a seventh of the start-up time
    gc.set_threshold(50_000)
    try:
        app(prog_name="harness")
    except ParleyError as error:
        if isinstance(error, Cancelled):
            stop_signals.ignore()
        from harness.cli.hints import report_error  # noqa: PLC0415 - nothing is wrong as a rule

        sys.exit(report_error(error))
