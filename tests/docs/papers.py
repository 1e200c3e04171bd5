"""docs/papers.md from docs/papers.toml: for each table and figure of the papers the command that makes ours, and the numbers.

`python -m tests.docs.papers` (make papers) writes the rows between the markers anew; a test proves that they are current, and
that every table, figure, preset and list of published numbers that a row names is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tomli

from harness.paths import ROOT

DATA, PAGE = ROOT / "docs" / "papers.toml", ROOT / "docs" / "papers.md"
BEGIN, END = "<!-- rows: made by make papers -->\n", "<!-- end of rows -->\n"

Papers = Mapping[str, Mapping[str, Any]]


def papers() -> Papers:
    """The file, by family."""
    return tomli.loads(DATA.read_text(encoding="utf-8"))


def numbers(family: str) -> Mapping[str, Any]:
    """The published numbers of a family."""
    path = ROOT / "parley" / "families" / family.replace("-", "_") / "published.toml"
    return tomli.loads(path.read_text(encoding="utf-8"))


def counted(value: Any) -> int:
    """How many numbers stand in a part of published.toml."""
    if isinstance(value, Mapping):
        return sum(map(counted, value.values()))
    if isinstance(value, list):
        return sum(map(counted, value))
    return int(isinstance(value, int | float) and not isinstance(value, bool))


def how(family: str, item: Mapping[str, str]) -> str:
    """The command that makes ours."""
    made = [item["command"]] if "command" in item else []
    if "table" in item:
        made.append(f"harness report RUN --table {item['table']}")
    if "figure" in item:
        made.append(f"{family}-{item['figure']}.svg")
    return "; ".join(one if one.startswith("[") else f"`{one}`" for one in made) or "-"


def told(family: str, item: Mapping[str, str]) -> str:
    """Where the published values are, or why nothing stands here."""
    if "why_not" in item:
        return item["why_not"]
    if "published" not in item:
        return "none"
    part = numbers(family)[item["published"]]
    entries = (
        f"{len(part)} rows" if isinstance(part, list) else f"{counted(part)} numbers" if counted(part) else "names of tasks"
    )
    return f"{entries}: `{item['published']}`"


def rows(known: Papers) -> Iterator[str]:
    """The generated part of the page."""
    for family, paper in known.items():
        values = f"parley/families/{family.replace('-', '_')}/published.toml"
        yield f"\n## {paper['paper']}\n\nRuns: `{paper['run']}`. Published values: `{values}`\n\n"
        yield "| of the paper | shows | ours | published values |\n|---|---|---|---|\n"
        for item in paper["items"]:
            yield f"| {item['item']} | {item['shows']} | {how(family, item)} | {told(family, item)} |\n"


def page() -> str:
    """The whole page as it should be."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{head}{BEGIN}{''.join(rows(papers()))}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
