"""What commands find of families by name: their routine seeds, their kinds of generate and import, their mutations."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.plugins import families, family_part
from parley.commands import kinds

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_families_are_listed(harness: Command, root: Path) -> None:
    """`list --families` has every family with its tasks, and the seeds that CI proves."""
    rows = {row["family"]: row for row in json.loads(harness("list", "--families", "--json").stdout)}

    assert {name: row["tasks"] for name, row in rows.items()} == {
        name: len([*(root / "tasks" / name).iterdir()]) for name in families()
    }
    assert {name: row["seeds"] for name, row in rows.items() if row["seeds"] != "0-9"} == {"hidden-profile": "0-1"}


def test_ci_names_no_family(root: Path) -> None:
    """What must be green before a change lands is asked of every family that there is."""
    script = (root / ".ci" / "run").read_text(encoding="utf-8")

    assert [name for name in families() if name in script] == []


def test_kinds_are_the_families_own(harness: Command) -> None:
    """`generate` and `import` have the kinds that families bring, and say so of one that none brings."""
    for command, part in (("generate", "commands.generate"), ("import", "commands.importing")):
        brought = sorted(kind for name in ("calendar", "hidden-profile") for kind in family_part(name, part).KINDS)

        assert f"it has {', '.join(brought)}\n" in harness(command, "nothing").stderr


def test_kind_of_two_families_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two families that bring the same kind are an error, not the later one's command."""
    monkeypatch.setattr(kinds, "families", lambda: ["calendar", "calendar"])

    with pytest.raises(UsageError, match="two families define the command harness generate calendar"):
        kinds.kinds("generate", "commands.generate")


@pytest.mark.parametrize(
    ("flags", "option"), [(["--mutate", "clip=200"], "mutate"), (["--handles"], "handles"), (["--mitigate", "ttl"], "mitigate")]
)
def test_toggle_of_another_family_is_refused(harness: Command, flags: list[str], option: str, tmp_path: Path) -> None:
    """`harness run` with a toggle that the task's family does not have ends before anything starts, and says so."""
    arguments = ["run", "uniform-01", "--agent", "imap", "--runtime", "inprocess", *flags, "--out", tmp_path / "run"]
    done = harness(*arguments)

    assert (done.returncode, (tmp_path / "run").exists()) == (2, False)
    assert f"uniform-01 has no option '{option}'" in done.stderr


def test_mutations_of_a_family_without_any(harness: Command) -> None:
    """`verify --mutations` of tasks that nothing can be asked of is refused, since no cell would be no proof."""
    done = harness("verify", "--mutations", "uniform-01")

    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "harness: calendar has no mutations")


def test_show_tells_no_option_of_another_family(harness: Command) -> None:
    """What `run` would refuse is not among the options that `show` prints."""
    shown = {name: harness("show", name).stdout for name in ("uniform-01", "presigned-url-download")}

    assert {name: "\noption     mutate" in text for name, text in shown.items()} == {
        "uniform-01": False,
        "presigned-url-download": True,
    }
