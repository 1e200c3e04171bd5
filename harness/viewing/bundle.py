"""A site as a folder of files that can be published, or opened from a disk: each page, its JSON, and the episodes' files.

1. It is written beside its place and renamed, so that a kill leaves no half bundle; a bundle that stands there is replaced, and
   a folder that is none is never written into.
2. A page that says that something cannot be read is written like the others, and counted.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from harness.errors import UsageError, quoted
from harness.viewing.library import Library
from harness.viewing.site import Site
from harness.writing import make_folder, write_file, writing

MARK = "bundle.txt"
"""The file by which a bundle is known."""

_MARKED = b"Pages of recorded runs, written by `harness view --bundle`. This folder is replaced when they are written again.\n"


def write_bundle(library: Library, folder: Path, wrote: Callable[[int], None]) -> int:
    """Write all pages of some runs into a folder; the number of those that say that something cannot be read.

    `wrote` is called with the number of files so far. Raises UsageError for a folder that holds something else, and where the
    system refuses to write.
    """
    folder = folder.absolute()
    if folder.exists() and not (folder / MARK).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there and is no bundle", hint=f"harness view RUNS --bundle {quoted(f'{folder}/view')}")
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    with writing(folder):
        shutil.rmtree(beside, ignore_errors=True)
        try:
            damaged = _filled(Site(library, is_bundle=True), beside, wrote)
            write_file(beside / MARK, _MARKED)
            if folder.exists():
                shutil.rmtree(folder)
            beside.rename(folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return damaged


def _filled(site: Site, folder: Path, wrote: Callable[[int], None]) -> int:
    """Every page of a site below a folder; the number of those that say that something cannot be read."""
    make_folder(folder)
    damaged = 0
    for number, address in enumerate(site.addresses(), start=1):
        answer = site.answer(address)
        if answer is not None:
            place = folder / address
            make_folder(place.parent)
            write_file(place, answer.body)
            damaged += not answer.is_whole and address.endswith(".html")
        wrote(number)
    return damaged
