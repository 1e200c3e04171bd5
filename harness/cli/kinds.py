"""A command that has kinds: `harness generate calendar`, `harness import calbench`, each with flags of its own."""

from __future__ import annotations

from typing import Any

import typer

from harness.errors import UsageError


class Kinds(typer.core.TyperGroup):
    """A group of kinds; who asks for one that it lacks is told which it has."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a kind; raises UsageError where there is none."""
        found = super().get_command(ctx, cmd_name)
        if found is None:
            command, known = f"harness {ctx.info_name}", list(self.commands)
            why = f"{command} knows no {cmd_name!r}; it knows {', '.join(known)}"
            raise UsageError(why, hint=f"{command} {known[0]} --help")
        return found


def kinds() -> typer.Typer:
    """A command to which kinds are added."""
    return typer.Typer(cls=Kinds, no_args_is_help=True, add_completion=False, rich_markup_mode=None)
