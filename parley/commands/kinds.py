"""Commands whose kinds are defined by families: `harness generate calendar`, `harness import calbench`. Each has its own flags.

The family's part has a table KINDS: the name of the kind -> a function with Typer's annotations. A command is created on first
use, because that imports this part of every family.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from harness.errors import UsageError
from harness.plugins import families, family_part_or_none

PARTS = {"audit": "commands.audit", "generate": "commands.generate", "import": "commands.importing"}
"""Part of a family that defines the kinds, by command."""


class Kinds(typer.core.TyperGroup):
    """A group of kinds that lists the known kinds in the error for an unknown one."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a kind. Raises UsageError if there is none."""
        kind = super().get_command(ctx, cmd_name)
        if kind is None:
            command, known = f"harness {ctx.info_name}", list(self.commands)
            why = f"{command} has no kind {cmd_name!r}; it has {', '.join(known)}"
            raise UsageError(why, hint=f"{command} {known[0]} --help")
        return kind


def kinds(command: str, part: str) -> typer.Typer:
    """Return a command with every kind of the family parts of this name. Raises UsageError if two families define the same."""
    brought: dict[str, Callable[..., None]] = {}
    for family in families():
        module = family_part_or_none(family, part)
        for name, kind in module.KINDS.items() if module else ():
            if name in brought:
                raise UsageError(f"two families define the command harness {command} {name}")
            brought[name] = kind
    group = typer.Typer(cls=Kinds, no_args_is_help=True, add_completion=False, rich_markup_mode=None)
    # without a callback, Typer would turn a group of one kind into a plain command
    group.callback()(lambda: None)
    for name in sorted(brought):
        group.command(name)(brought[name])
    return group


def __getattr__(name: str) -> typer.Typer:
    """Return `audit_command`, `generate_command` or `import_command`."""
    command = name.removesuffix("_command")
    if command not in PARTS:
        raise AttributeError(name)
    return kinds(command, PARTS[command])
