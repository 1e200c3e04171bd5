"""What of a folder no agent may come across: the material of its solution and tests, and a quick search for it.

What counts as material, so that nothing is found in a sound folder:
1. Files of solution/ and tests/, without the rendered instruction, Dockerfiles, and what `harness sync` writes into every
   folder. Of Python files the string literals that are no docstrings; of JSON the leaves; of other text its words, of data
   files (`DATA`) its lines too; a binary file is material as a whole.
2. A literal or line of at least 16 bytes that tells something: 8 different characters or more, and a digit or both cases.
   Paths and addresses are none, and nothing that the instruction says.
3. A hit is a 16-byte shingle of that which tells something by itself, or a whole file. Encoded or packed material is not
   recognised.
How it is searched: 16 bytes at any place cover one aligned block of 8, so each aligned block of the data is looked up in the
set of all 8-byte windows of the shingles; only where one is known are the shingles around it compared.
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
"""Files whose lines are values."""

_SYNCED = re.compile(rb"Boilerplate \S+, written by `harness sync`")
_MOST = 1 << 20


@dataclass(frozen=True)
class Hidden:
    """The material, ready to be searched for."""

    shingles: dict[bytes, str]
    """Where each comes from."""

    digests: dict[str, str]
    """The names of whole files by SHA-256."""

    blocks: frozenset[int]

    def whole(self, data: bytes) -> str | None:
        """Which file this is, or None."""
        return self.digests.get(hashlib.sha256(data).hexdigest())

    def within(self, data: bytes) -> str | None:
        """The first shingle that stands in `data`, with where it comes from, or None."""
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
    """The material of one folder; `instruction` is what this episode's says, beside instruction.md."""
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
    """The files that must stay hidden, by name."""
    for room in ("solution", "tests"):
        for path in files_of(task.path / room) if (task.path / room).is_dir() else ():
            plain = path.name in {"instruction.md", "Dockerfile"} or path.stat().st_size > _MOST
            if not plain and not _SYNCED.search(path.read_bytes()):
                yield path.relative_to(task.path).as_posix(), path


def values(suffix: str, data: bytes) -> Iterator[bytes]:
    """The literals, leaves, words and lines of one file that are material."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        yield data
        return
    yield from (
        value
        for value in map(str.encode, literals(suffix, text))
        if len(value) >= SHINGLE and tells(value) and not _address(value)
    )


def literals(suffix: str, text: str) -> Iterator[str]:
    """Every literal of a text file, whatever it tells."""
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
    """Whether so many bytes are no accident: 8 different ones or more, and among them a digit or letters of both cases."""
    both = value != value.lower() and value != value.upper()
    return len(set(value)) >= BLOCK and (both or any(48 <= byte <= 57 for byte in value))


def _address(value: bytes) -> bool:
    return value.startswith((b"/", b"./", b"-", b"$")) or b"://" in value


def _strings(tree: ast.Module) -> Iterator[str]:
    """String constants but for docstrings."""
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
