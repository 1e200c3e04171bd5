"""Prompt templates that override a family's own (`--templates DIR`), for example to replicate a paper's prompts verbatim.

1. DIR contains files named like the family's texts; for missing files the family's own text is used. Anything else is refused
by name: a file that the family does not have, an unknown placeholder, tasks of two families.
2. The texts are stored in run.json and their digest in every result, so a run can be resumed without the folder, and is never
shown in the same row as a run with other texts.
3. Clients and scripted seats parse our own texts, so with other texts only models, recordings and `nop` can play.

A prompt variant is a Markdown file whose text is appended to the rules of one seat or of every seat:
1. A family ships named variants in `parley/families/<family>/prompt_variants/`; any other is a path to a file. A shipped
variant is only valid in its own family.
2. A variant belongs to the seat, not to its player: if the players move, the variant stays.
3. Only models read variants. A variant at a seat that a policy or a recording may play is refused, with the player's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.agent import AgentSpec
from harness.agents.seats.lineup import may_hold, seat_and_name
from harness.errors import UsageError, quoted
from harness.limits import SETTINGS_BYTES
from harness.paths import ROOT
from harness.registry import Task
from harness.safe_read import names_in, read_file, read_given
from harness.teams import Variant
from worlds.core.errors import ManifestError
from worlds.core.parts import families_in
from worlds.core.texts import check_texts, placeholders


def read_templates(folder: Path) -> dict[str, str]:
    """Read the texts in a folder by file name; raises UsageError if the folder or a file cannot be read."""
    texts = {}
    try:
        for name in names_in(folder):
            texts[name] = read_file(folder, name, SETTINGS_BYTES).data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"--templates: {folder}/{name} is not UTF-8") from None
    except OSError as error:
        raise UsageError(f"--templates: {error.filename or folder}: {error.strerror}") from None
    if not texts:
        why = f"--templates: {folder} contains no texts"
        raise UsageError(why, hint=f"harness export templates FAMILY --out {quoted(folder)}")
    return texts


def check_templates(templates: Mapping[str, str], tasks: Sequence[Task], agent: AgentSpec) -> None:
    """Raise UsageError, by name, for texts that do not fit these tasks, or that this agent cannot read."""
    families = sorted({task.family for task in tasks})
    if len(families) > 1:
        raise UsageError(f"--templates holds the texts of one family, but these are tasks of {', '.join(families)}")
    for family in families:
        if placeholders(family) is None:
            raise UsageError(f"the family {family} has no texts for seats; {', '.join(with_texts())} have them")
        try:
            check_texts(family, templates)
        except ManifestError as error:
            raise UsageError(f"--templates: {error}", hint=f"harness export templates {family} --out DIR") from None
    scripted = next((one.name for one in agent.holders if one.kind == "policy"), None)
    if scripted is None and agent.team is None and agent.kind in {"oracle", "violation", "seats"}:
        scripted = agent.title
    if scripted is not None:
        why = f"{scripted} parses the family's own texts, so it cannot play with --templates"
        raise UsageError(why, hint="harness run ... --model gpt-5")


def with_texts() -> list[str]:
    """Return the families whose texts can be replaced."""
    return [family for family in families_in("worlds") if placeholders(family) is not None]


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
