"""Prompt templates that override a family's own (`--templates DIR`), for example to replicate a paper's prompts verbatim.

1. DIR contains files named like the family's texts; for missing files the family's own text is used. Anything else is refused
by name: a file that the family does not have, an unknown placeholder, tasks of two families.
2. The texts are stored in run.json and their digest in every result, so a run can be resumed without the folder, and is never
shown in the same row as one with other texts.
3. Clients and scripted seats parse our own texts, so with other texts only models, recordings and `nop` can play.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.agent import AgentSpec
from harness.errors import UsageError, quoted
from harness.limits import SETTINGS_BYTES
from harness.registry import Task
from harness.safe_read import names_in, read_file
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
