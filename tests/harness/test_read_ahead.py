"""Files that are read ahead come in their order, so many bytes at once, and one that cannot be read is named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.safe_read import NotPlain
from parley.reports import packing as module
from parley.reports.packing import read_ahead


def listed(folder: Path) -> list[tuple[str, int]]:
    """The files of a folder with their lengths."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    return [(str(path.relative_to(folder)), path.lstat().st_size) for path in paths]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Many short files in several folders, an empty one and long ones."""
    for number in range(300):
        place = tmp_path / f"f{number % 7}"
        place.mkdir(exist_ok=True)
        (place / f"{number}").write_bytes(os.urandom(number))
    (tmp_path / "f0" / "long").write_bytes(os.urandom(5000))
    (tmp_path / "f3" / "longer").write_bytes(os.urandom(9000))
    return tmp_path


@pytest.mark.parametrize("most", [16 << 20, 4000, 1])
def test_each_file_comes_in_its_place(folder: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one alone is longer than all that may be held."""
    monkeypatch.setattr(module, "_HELD", most)

    assert list(read_ahead(folder, listed(folder))) == [(folder / name).read_bytes() for name, _ in listed(folder)]


def test_no_more_is_read_than_may_be_held(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are asked for as files are taken: the next ones only, and not the whole list."""
    monkeypatch.setattr(module, "_HELD", 4000)
    asked = 0

    def names() -> Iterator[tuple[str, int]]:
        nonlocal asked
        for one in listed(folder):
            asked += one[1]
            yield one

    read = read_ahead(folder, names())
    taken = len(next(read))

    assert asked - taken < 4000 + 9000 + 1000
    read.close()


def test_what_cannot_be_read_is_named(folder: Path) -> None:
    """As reading one file after the other names it."""
    (folder / "f3" / "0-link").symlink_to("/etc/hostname")

    with pytest.raises(NotPlain, match="links are not followed") as refusal:
        list(read_ahead(folder, listed(folder)))
    assert refusal.value.filename == str(folder / "f3" / "0-link")
