"""Prompt variants: a Markdown file whose text is appended to the rules of one seat or of every seat.

1. A family ships named variants in `parley/families/<family>/prompt_variants/`; any other is a path to a file. A shipped
variant is only valid in its own family.
2. A variant belongs to the seat, not to its player: if the players move, the variant stays.
3. Only models read variants. A variant at a seat that a policy or a recording may play is refused, with the player's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.agent import AgentSpec
from harness.agents.seats.lineup import may_hold, seat_and_name
from harness.errors import UsageError
from harness.limits import SETTINGS_BYTES
from harness.paths import ROOT
from harness.registry import Task
from harness.safe_read import read_given
from harness.teams import Variant

FAMILIES = ROOT / "parley" / "families"
FOLDER, SUFFIX = "prompt_variants", ".md"


def read_variant(name: str, families: Sequence[str]) -> Variant:
    """Read the variant with this name or path; raises UsageError if it cannot be read, or belongs to another family."""
    homes = {family: folder / f"{name}{SUFFIX}" for family in families if (folder := _folder(family)) is not None}
    if "/" not in name and any(path.exists() for path in homes.values()):
        if without := [family for family in families if family not in homes or not homes[family].exists()]:
            raise UsageError(
                f"the variant {name} does not belong to {', '.join(without)}", hint="harness run with the tasks of one family"
            )
        return _read(name, homes[families[0]])
    path = Path(name)
    if not path.is_file():
        known = [one for family in families for one in shipped(family)]
        raise UsageError(f"no variant or file named {name!r}; variants: {', '.join(known) or 'none of this family'}")
    return _read(path.stem, path)


def shipped(family: str) -> list[str]:
    """Return the names of the variants that a family ships."""
    folder = _folder(family)
    return sorted(path.stem for path in folder.glob(f"*{SUFFIX}")) if folder else []


def read_seat_variants(texts: Sequence[str], families: Sequence[str]) -> dict[int, Variant]:
    """Parse the variants of `--seat-variant SEAT=NAME`; raises UsageError for an invalid or duplicate seat."""
    made: dict[int, Variant] = {}
    for text in texts:
        seat, name = seat_and_name(text, "a seat's variant must look like 0=redteam or 0=mine.md")
        if seat in made:
            raise UsageError(f"seat {seat} has two variants")
        made[seat] = read_variant(name, families)
    return made


def check_variants(spec: AgentSpec, task: Task, seats: int) -> None:
    """Raise UsageError for a variant at a nonexistent seat, or at a seat that may be played by anything but a model."""
    if beyond := next((seat for seat in sorted(spec.seat_variants) if seat >= seats), None):
        raise UsageError(f"{task.task_id}: --seat-variant {beyond} does not exist; the seats are 0 to {seats - 1}")
    for seat in range(seats):
        variant = spec.variant_at(seat)
        if variant is None:
            continue
        if deaf := next((one for one in may_hold(spec, seat, seats) if one.kind != "model"), None):
            who = f"{'replay:' * (deaf.kind == 'replay')}{deaf.name or deaf.kind}"
            why = f"{who} does not read prompts, so the variant {variant.name} has no effect at seat {seat}"
            raise UsageError(why, hint="--seat-variant SEAT=NAME for the seats of models")


def _folder(family: str) -> Path | None:
    folder = FAMILIES / family.replace("-", "_") / FOLDER
    return folder if folder.is_dir() else None


def _read(name: str, path: Path) -> Variant:
    try:
        text = read_given(path, SETTINGS_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"the variant {path} cannot be read: {why}") from None
    if not text.strip():
        raise UsageError(f"the variant {path} is empty")
    return Variant(name=name, text=text)
