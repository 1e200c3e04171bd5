"""Each protocol sends each seat what stands in its golden file, call by call; `make golden` writes the files anew."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli

from harness.cli.config import PRESETS
from tests.parley.families.hidden_profile.golden_prompts import FOLDER, PROTOCOLS, sent


@pytest.mark.property
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_seats_are_sent_what_they_were(protocol: str) -> None:
    """Not a word, a role, a parameter or a turn of it has changed that nobody meant to change."""
    written = (FOLDER / f"{protocol}.md").read_text(encoding="utf-8")

    assert sent(protocol).splitlines() == written.splitlines(), "if this is meant, run: make golden"


def protocol_of(path: Path) -> frozenset[str]:
    """The options of a preset that say how its sessions are held; what a study compares is none of them."""
    lines = tomli.loads(path.read_text(encoding="utf-8"))["set"]
    return frozenset(line for line in lines if not line.startswith(("condition=", "variant=", "rounds=", "size=", "rules=")))


def test_every_preset_that_is_a_protocol_has_a_golden_file() -> None:
    """The presets hold sessions in as many ways as there are protocols with one, or in ours; each has a file, and no other."""
    ways = {path.stem: protocol for path in PRESETS.glob("hidden-*.toml") if (protocol := protocol_of(path))}

    assert set(ways.values()) == {ways[preset] for preset in PROTOCOLS if preset != "ours"}
    assert {path.stem for path in FOLDER.glob("*.md")} == set(PROTOCOLS)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PROTOCOLS:
        (FOLDER / f"{name}.md").write_text(sent(name), encoding="utf-8")
