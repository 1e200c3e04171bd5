"""`--config FILE.toml`: the flags of a command as keys of a file, named like the flags without leading dashes.

1. A flag on the command line overrides the file. An unknown key, or a value that the flag would not take, is an error with its
   line.
2. Some settings are refused in files: trusted code (`trust`), variables of this host (`env`), and credentials. An address in a
   file needs confirmation like one in a run.json (`harness.runs.addresses`).
3. `--preset NAME` is a file from harness/presets/, for a set-up of the papers.
4. `print_config` writes the format that `read_config` reads.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli
import typer

from harness.cli.signatures import PROVIDERS
from harness.errors import UsageError
from harness.limits import SETTINGS_BYTES
from harness.safe_read import read_given
from harness.secrets import public_address
from harness.taskfile import line_of

PRESETS = Path(__file__).resolve().parents[1] / "presets"

TYPED_ONLY = {
    "trust": "code to trust must be named on the command line each time",
    "env": "host variables to pass on must be named on the command line each time",
    "address": "machines to run on must be named on the command line each time",
    "executor": "machines to run on must be named on the command line each time",
}
NOT_SETTINGS = frozenset({"config", "preset", "print-config"})
_CREDENTIAL = re.compile(r"(^|[-_])(key|token|secret|password|credentials?)($|[-_])", re.IGNORECASE)


def read_config(ctx: typer.Context, path: Path) -> None:
    """Use the values of a file as defaults of this command's flags. Raises UsageError for an invalid file."""
    if ctx.default_map:
        raise UsageError("--config and --preset both name a file of settings; choose one")
    ctx.default_map = dict(_settings(ctx, path))


def preset(name: str) -> Path:
    """Return the path of a preset. Raises UsageError with the known names for an unknown one."""
    known = sorted(path.stem for path in PRESETS.glob("*.toml"))
    if name not in known:
        raise UsageError(f"no preset named {name!r}; presets: {', '.join(known)}")
    return PRESETS / f"{name}.toml"


def print_config(ctx: typer.Context) -> str:
    """Return the flags of this command line as a file: those that have a value, in the order of their table."""
    values = {key: ctx.params.get(parameter.name) for key, parameter in flags(ctx).items()}
    return settings_text({key: value for key, value in values.items() if key not in {*TYPED_ONLY, *NOT_SETTINGS}})


def settings_text(values: Mapping[str, Any]) -> str:
    """Return values by key as a file for `--config`, without empty ones."""
    given = {key: value for key, value in values.items() if value is not None and value not in ([], ())}
    return "".join(
        f"{key} = {_written(public_address(value) if key == 'api-base' else value)}\n" for key, value in given.items()
    )


def flags(ctx: typer.Context) -> dict[str, Any]:
    """Return the parameters of a command by their keys in a file: the long flag without its dashes, or an argument's name."""
    return {_key(parameter): parameter for parameter in ctx.command.params if parameter.name != "help"}


def _key(parameter: Any) -> str:
    longest: str = max(parameter.opts, key=len)
    return longest.removeprefix("--")


def _settings(ctx: typer.Context, path: Path) -> Iterator[tuple[str, Any]]:
    """Yield parameter names and values. Raises UsageError naming file, line and key."""
    known = flags(ctx)
    try:
        text = read_given(path, SETTINGS_BYTES).decode()
        table = tomli.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{path} is not a settings file: {why}") from None
    for key, value in table.items():
        place = f"{path}:{line_of(text, (key,))}: {key}"
        if key not in known or key in {*TYPED_ONLY, *NOT_SETTINGS}:
            raise _refused(key, place, list(known))
        yield known[key].name, _value(ctx, known[key], value, place)


def _refused(key: str, place: str, known: list[str]) -> UsageError:
    """Return the error for a key that a file may not have, which says what to use instead."""
    if key in TYPED_ONLY:
        return UsageError(f"{place} cannot come from a file: {TYPED_ONLY[key]}", hint=f"harness run ... --{key}")
    if key in NOT_SETTINGS:
        return UsageError(f"{place} cannot come from a file: it selects the file, or what is done with it")
    if _CREDENTIAL.search(key):
        return UsageError(f"{place} looks like a credential, and those can come only from the environment")
    near = difflib.get_close_matches(key.replace("_", "-"), [name for name in known if name not in TYPED_ONLY], n=1)
    return UsageError(f"{place} is not a flag of this command" + (f"; did you mean {near[0]}?" if near else ""))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_KINDS: Mapping[Any, tuple[str, Callable[[Any], bool]]] = {
    list[str]: ("a list of texts", lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("a whole number", lambda value: _is_number(value) and isinstance(value, int)),
    float: ("a number", _is_number),
    Any: ("a number or default", lambda value: value == PROVIDERS or _is_number(value)),
}
"""For each type of values, its name, and whether a value of a file is of that type; all others are texts."""


def _value(ctx: typer.Context, parameter: Any, value: Any, place: str) -> Any:
    """Return a valid value of the flag. Raises UsageError for an invalid one."""
    kind, fits = _KINDS.get(parameter.type_descriptor.annotation, ("a text", lambda value: isinstance(value, str)))
    if not fits(value):
        raise UsageError(f"{place} must be {kind}, not {value!r}")
    if parameter.name == "api_base" and public_address(value) != value:
        raise UsageError(f"{place} contains a credential, and those can come only from the environment")
    try:
        parameter.process_value(ctx, value)
    except typer.BadParameter as error:
        raise UsageError(f"{place}: {error.message}") from None
    return value


def _written(value: Any) -> str:
    """Return a value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, int | float):
        return repr(value)
    escaped = "".join(_escaped(character) for character in str(value))
    return f'"{escaped}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"
