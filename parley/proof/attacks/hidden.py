"""Material of a folder's solution and tests that must stay hidden from agents, and a fast search for it.

Hidden material is defined so that sound folders give no false positives: literals, leaves, words and lines of at least 16 bytes
with enough entropy (`tells`), and binary files as a whole. Paths, addresses and text from the instruction are excluded. A hit
is a 16-byte shingle (substring) of such material that has enough entropy itself, or a whole file. Encoded or packed material is
not recognised. The search: any 16 consecutive bytes cover one aligned block of 8, so each aligned block of the data is looked
up in the set of all 8-byte windows of the shingles. The surrounding shingles are compared only for known blocks.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.registry import Task, files_of

SHINGLE, BLOCK = 16, 8
DATA = frozenset({".csv", ".json", ".jsonl", ".md", ".toml", ".tsv", ".txt", ".xml", ".yaml", ".yml"})
"""Suffixes of files whose lines are values."""

_SYNCED = re.compile(rb"Boilerplate \S+, written by `harness sync`")
_MOST = 1 << 20


@dataclass(frozen=True)
class Hidden:
    """The hidden material, indexed for searching."""

    shingles: dict[bytes, str]
    """Source file of each shingle."""

    digests: dict[str, str]
    """Names of whole files by SHA-256."""

    blocks: frozenset[int]

    def whole(self, data: bytes) -> str | None:
        """Return the name of the file with exactly this content, or None."""
        return self.digests.get(hashlib.sha256(data).hexdigest())

    def within(self, data: bytes) -> str | None:
        """Return the first shingle that `data` contains, with its source, or None."""
        view = memoryview(data)[: len(data) // BLOCK * BLOCK].cast("Q")
        if self.blocks.isdisjoint(view):
            return None
        for place, block in enumerate(view):
            if block in self.blocks:
                for start in range(max(0, BLOCK * (place - 1)), BLOCK * place + 1):
                    if (shingle := data[start : start + SHINGLE]) in self.shingles:
                        return f"{shingle.decode('utf-8', 'replace')!r} of {self.shingles[shingle]}"
        return None


def hidden_of(task: Task, instruction: str = "") -> Hidden:
    """Return the hidden material of one folder; `instruction` is the episode's text in addition to instruction.md."""
    known = ((task.path / "instruction.md").read_text(encoding="utf-8", errors="replace") + instruction).encode()
    shingles: dict[bytes, str] = {}
    digests: dict[str, str] = {}
    for name, path in material(task):
        data = path.read_bytes()
        if len(data) >= SHINGLE:
            digests[hashlib.sha256(data).hexdigest()] = name
        for value in set(values(path.suffix, data)):
            windows = (value[start : start + SHINGLE] for start in range(len(value) - SHINGLE + 1))
            shingles |= {window: name for window in windows if tells(window) and window not in known}
    starts = range(SHINGLE - BLOCK + 1)
    blocks = {int.from_bytes(window[i : i + BLOCK], sys.byteorder) for window in shingles for i in starts}
    return Hidden(shingles, digests, frozenset(blocks))


def material(task: Task) -> Iterator[tuple[str, Path]]:
    """Yield the files that must stay hidden, with their names."""
    for room in ("solution", "tests"):
        for path in files_of(task.path / room) if (task.path / room).is_dir() else ():
            plain = path.name in {"instruction.md", "Dockerfile"} or path.stat().st_size > _MOST
            if not plain and not _SYNCED.search(path.read_bytes()):
                yield path.relative_to(task.path).as_posix(), path


def values(suffix: str, data: bytes) -> Iterator[bytes]:
    """Yield the literals, leaves, words and lines of one file that are hidden material."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        yield data
        return
    for value in map(str.encode, literals(suffix, text)):
        is_address = value.startswith((b"/", b"./", b"-", b"$")) or b"://" in value
        if len(value) >= SHINGLE and tells(value) and not is_address:
            yield value


def literals(suffix: str, text: str) -> Iterator[str]:
    """Yield every literal of a text file, regardless of its entropy."""
    if suffix == ".py":
        try:
            yield from _strings(ast.parse(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
        else:
            return
    if suffix == ".json":
        try:
            yield from _leaves(json.loads(text))
        except (ValueError, RecursionError):
            pass
        else:
            return
    if suffix in DATA:
        yield from (line.strip() for line in text.splitlines())
    yield from re.findall(r"[^\s'\"`<>|;&()]+", text)


def tells(value: bytes) -> bool:
    """Return True if the bytes are unlikely to occur by chance: 8 or more different ones, with a digit or both letter cases."""
    both = value != value.lower() and value != value.upper()
    return len(set(value)) >= BLOCK and (both or any(48 <= byte <= 57 for byte in value))


def _strings(tree: ast.Module) -> Iterator[str]:
    """Yield string constants other than docstrings."""
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def _leaves(document: object) -> Iterator[str]:
    if isinstance(document, dict | list):
        for value in document.values() if isinstance(document, dict) else document:
            yield from _leaves(value)
    else:
        yield str(document)
