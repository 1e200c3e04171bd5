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
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli.signatures import plainly_typed
from harness.errors import Cancelled, HarnessError
from harness.interrupts import stop_signals
from harness.plugins import plugin
from worlds.core.errors import ParleyError

COMMANDS: dict[str, tuple[str, str]] = {
    "list": ("harness.cli.tasks", "List tasks by name, glob or family."),
    "show": ("parley.commands.show", "Show one task, one recorded episode, or the episodes of a run."),
    "run": ("harness.cli.run", "Run tasks with an agent or a model, and record every episode."),
    "view": ("parley.commands.view", "Read recorded runs in a browser, or write their pages into a folder."),
    "runs": ("parley.commands.runs", "List the runs in a folder: who, what, how far, at what cost."),
    "merge": ("parley.commands.merge", "Make one run of the shards that were played apart (run --shard)."),
    "pack": ("parley.commands.packing", "Write a run into one file, which every command reads like its folder."),
    "unpack": ("parley.commands.packing", "Write the folder of a packed run again, byte for byte."),
    "host": ("parley.commands.host", "Let a group of people play a game, each on a web page of this host."),
    "report": ("parley.commands.report", "Make the tables of runs, with published numbers beside."),
    "compare": ("parley.commands.compare", "Compare two runs on what both played; the exit code says whether B is worse."),
    "leaderboard": ("parley.commands.leaderboard", "Rank models over all families, with intervals of their ranks."),
    "audit": ("parley.commands.audit", "Ask a judge model about runs, and say how far it agrees."),
    "export": ("parley.commands.export", "Write tasks and episodes as other programs read them."),
    "replay": ("parley.commands.replay", "Play games again from their traces alone, and say what agrees."),
    "models": ("parley.commands.models", "List the models that reports know by name."),
    "verify": ("parley.commands.verify", "Prove tasks: lint, oracle, nop, every violation, determinism."),
    "new": ("parley.commands.authoring", "Start a new task folder that verifies at once."),
    "sync": ("parley.commands.authoring", "Rewrite the boilerplate of task folders from its templates."),
    "generate": ("parley.commands.generate", "Generate tasks, or parts of them, by code or by a model."),
    "import": ("parley.commands.importing", "Write published scenarios of another benchmark as task folders."),
    "release": ("parley.commands.release", "Pin the tasks of a release, by which reports judge what is complete."),
    "images": ("parley.commands.doctor", "Build the base images, and the images of tasks."),
    "clean": ("parley.commands.clean", "List what dead runs left behind, or (--images) old images, and remove it."),
    "doctor": ("parley.commands.doctor", "Say which runtimes work here, and what to do about the others."),
}
"""For each command, the module that holds its function, and its one line of help.

Other names are looked up among the entry points `parley.commands`.
"""

EARLY = {"run": "harness.cli.early"}
"""For each command, the light module whose `check` reads the command line before the command's own module is imported."""


class LazyGroup(typer.core.TyperGroup):
    """Command group that prints help without importing command modules."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        plainly_typed(self)

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
        if cmd_name in EARLY and cmd_name in sys.argv[1:]:
            importlib.import_module(EARLY[cmd_name]).check(sys.argv[1:])
        return _command(cmd_name, getattr(importlib.import_module(module), f"{cmd_name}_command"), help_line)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and convert an interrupt to Cancelled."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Cancelled("interrupted") from None


def _being_completed() -> list[str]:
    """Return the words of the command line that a shell completes, as bash and other shells pass them."""
    return [word for name in ("COMP_WORDS", "_TYPER_COMPLETE_ARGS") for word in os.environ.get(name, "").split()]


def _command(name: str, implementation: Any, help_line: str | None) -> Any:
    """Return a function as a command; a command with kinds of its own becomes a group."""
    if isinstance(implementation, typer.Typer):
        group = typer.main.get_command(implementation)
        group.name, group.help = name, help_line
        return plainly_typed(group)
    command = typer.Typer(add_completion=False, rich_markup_mode=None)
    command.command(name=name, help=help_line)(implementation)
    return plainly_typed(typer.main.get_command(command))


def _show_version(asked: bool) -> None:
    if asked:
        from harness.version import told_version  # noqa: PLC0415 - asks git

        print(f"harness {told_version()}")
        raise typer.Exit(0)


app = typer.Typer(
    cls=LazyGroup, no_args_is_help=True, add_completion=True, rich_markup_mode=None, pretty_exceptions_enable=False
)


@app.callback()
def harness(
    ctx: typer.Context,
    tasks: Annotated[
        Path | None, typer.Option(help="Folder of tasks (else PARLEY_TASKS, tasks/ here or above, or this one).")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say on stderr what begins, and how long it took.")] = False,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Say the version, and the commit.")
    ] = False,
) -> None:
    """Measure whether AI agents can be trusted with delegated work."""
    del version
    ctx.obj = {"tasks": tasks}
    if verbose:
        from harness.output import log_to_stderr  # noqa: PLC0415 - help needs no tables

        log_to_stderr()


def main() -> None:
    """Run the `harness` command; print our own errors as one line with a hint, and exit with their code.

    INT, TERM and HUP all stop it from the start; repeated signals have no effect while it stops. Regardless of the user's
    umask, no created file (runs, caches, exports) is writable by others.
    """
    os.umask(os.umask(0o022) | 0o022)
    stop_signals.obey()
    # what is imported stays: looking through it for garbage a hundred times is a seventh of the start
    gc.set_threshold(50_000)
    try:
        app(prog_name="harness")
    except ParleyError as error:
        if isinstance(error, Cancelled):
            stop_signals.ignore()
        sys.exit(report_error(error))


def report_error(error: ParleyError) -> int:
    """Print an error with its hint, and return the exit code."""
    from harness.cli.hints import whole  # noqa: PLC0415 - nothing is wrong as a rule
    from harness.sanitize import printable  # noqa: PLC0415

    print(printable(f"harness: {error}"), file=sys.stderr)
    if not isinstance(error, HarnessError):
        return HarnessError.exit_code
    if error.hint:
        print(printable(f"  try: {whole(error.hint, sys.argv[1:])}"), file=sys.stderr)
    return stop_signals.exit_code if isinstance(error, Cancelled) else error.exit_code
