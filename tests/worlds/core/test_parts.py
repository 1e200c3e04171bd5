"""Parts of families by name: found, missing, or broken, which are three different things."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from worlds.core.parts import families_in, import_part

ROOM = "a_room_of_parts"


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A room with two families, a shared package, a module and a folder that is no package; forgotten afterwards."""
    for package in ("", "tall_tale", "core", "saga"):
        (tmp_path / ROOM / package).mkdir(exist_ok=True)
        (tmp_path / ROOM / package / "__init__.py").touch()
    (tmp_path / ROOM / "leftover").mkdir()
    (tmp_path / ROOM / "verdict.py").touch()
    (tmp_path / ROOM / "core" / "labels.py").touch()
    (tmp_path / ROOM / "tall_tale" / "labels.py").write_text("TOLD = True\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / ROOM
    for name in [name for name in sys.modules if name.partition(".")[0] == ROOM]:
        del sys.modules[name]


@pytest.mark.usefixtures("room")
def test_families_are_the_packages_of_a_room() -> None:
    """Packages are families, by the names that tasks use; the shared one, modules and empty folders are none."""
    assert families_in(ROOM) == ["saga", "tall-tale"]


@pytest.mark.usefixtures("room")
def test_part_by_name() -> None:
    """A part is the module of that name in the family's package."""
    labels = import_part(ROOM, "tall-tale", "labels")

    assert labels is not None
    assert labels.TOLD


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("family", ["saga", "nobody", "core", "Saga", "tall_tale", "tall-tale.labels", "../saga", ""])
def test_no_such_part(family: str) -> None:
    """A family without the part has none, and neither has what is no family at all."""
    assert import_part(ROOM, family, "labels") is None


@pytest.mark.parametrize("missing", ["nowhere_at_all", f"{ROOM}.sag", f"{ROOM}.saga.label"])
def test_broken_part_is_an_error(room: Path, missing: str) -> None:
    """A part that imports what is not there is broken, also where the missing name begins like its own."""
    (room / "saga" / "labels.py").write_text(f"import {missing}\n", encoding="utf-8")

    with pytest.raises(ModuleNotFoundError, match=missing):
        import_part(ROOM, "saga", "labels")
