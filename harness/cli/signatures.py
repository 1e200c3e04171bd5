"""Commands that take one object for all their flags: the fields of a dataclass become options of their types.

A flag counts as given if it was typed, or if a settings file contains it (`harness.cli.config`). All other flags have their
defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from inspect import Parameter, Signature
from typing import Annotated, Any, TypeVar, get_type_hints

import typer


@dataclass(frozen=True)
class Flags:
    """The values of a command's flags; a subclass has a field for each."""

    typed: frozenset[str] = frozenset()
    """Flags on the command line."""

    filed: frozenset[str] = frozenset()
    """Flags in a settings file."""

    def given(self, *names: str) -> dict[str, Any]:
        """Return the values of these flags, without the flags that were not given."""
        return {name: getattr(self, name) for name in names if name in self.typed | self.filed}


def flag(default: Any, told: str, *names: str, **settings: Any) -> Any:
    """Return a field of a table of flags, with its line of help; names and settings are those of `typer.Option`."""
    return field(default=default, metadata={"option": typer.Option(*names, help=told, **settings)})


PROVIDERS = "default"
"""The value that selects the provider's own temperature."""


def degrees(text: str | float) -> str | float:
    """Return a typed temperature: a number, or `default` for the provider's own. Raises ValueError for anything else."""
    return PROVIDERS if text == PROVIDERS else float(text)


FlagsT = TypeVar("FlagsT", bound=Flags)
Command = Callable[..., None]


def takes_flags(table: type[FlagsT]) -> Callable[[Callable[[typer.Context, FlagsT], None]], Command]:
    """Return a decorator that turns a function of one object into a command with the fields of `table` as options."""
    own = {field.name for field in fields(Flags)}
    defaults = {field.name: field.default for field in fields(table) if field.name not in own}
    hints = {"ctx": typer.Context, **get_type_hints(table, include_extras=True)}
    hints |= {one.name: Annotated[hints[one.name], one.metadata["option"]] for one in fields(table) if one.metadata}
    names = ("ctx", *defaults)

    def command_of(function: Callable[[typer.Context, FlagsT], None]) -> Command:
        def called(ctx: typer.Context, **values: Any) -> None:
            sources = {name: source.name for name in values if (source := ctx.get_parameter_source(name)) is not None}
            typed = {name for name, source in sources.items() if source == "COMMANDLINE" and values[name] not in (None, [])}
            filed = {name for name, source in sources.items() if source == "DEFAULT_MAP"}
            function(ctx, table(**values, typed=frozenset(typed), filed=frozenset(filed)))

        called.__annotations__ = {name: hints[name] for name in names}
        called.__doc__ = function.__doc__
        parameters = [
            Parameter(
                name, Parameter.POSITIONAL_OR_KEYWORD, annotation=hints[name], default=defaults.get(name, Parameter.empty)
            )
            for name in names
        ]
        vars(called)["__signature__"] = Signature(parameters)
        return called

    return command_of
