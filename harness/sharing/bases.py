"""What exported tasks build on: our base images by the names they have here, or the same ones pinned on a registry.

`harness.sharing.standalone` is the third kind. Each makes the files of an exported copy of a task, in which instruction, world,
hidden tests and oracle are the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from harness.contents import Content
from harness.errors import TaskInvalid, UsageError
from harness.pod import ROOMS, TESTS_ROOM
from harness.registry import Task, contents_of

Files = Mapping[str, Content]
"""Relative path -> content, of one exported task."""

TESTS_VARIABLE = "PARLEY_TESTS"
"""Names the tests to run, in that image; docker/tests/test.sh reads it."""

_BASE = re.compile(rf"\bparley/({'|'.join(ROOMS)}):1(?![\w.-])")
_REFERENCE = re.compile(rf"(?P<where>[a-z0-9][a-z0-9._:/-]*)/(?P<room>{'|'.join((*ROOMS, TESTS_ROOM))})@sha256:[0-9a-f]{{64}}")
_NAMES_IMAGES = ("task.toml", "Dockerfile", "docker-compose.yaml")


class Bases(Protocol):
    """A kind of foundation for exported tasks."""

    @property
    def told(self) -> str:
        """One clause for people: what the tasks build on."""

    @property
    def needed(self) -> str:
        """What somebody has to do before a build, as a sentence for the card; "" for nothing."""

    def files(self, task: Task) -> Files:
        """The exported copy of a task; raises TaskInvalid where the folder does not allow it."""


class LocalBases:
    """The names that `harness images` gives: for hosts on which it has run."""

    told = "on parley/agent:1, parley/world:1 and parley/verifier:1"
    needed = "Build the base images once on each machine: `make images` in a checkout of Parley."

    def files(self, task: Task) -> Files:
        """The folder as it stands."""
        return contents_of(task.path)


class PinnedBases:
    """Images on a registry, each by its digest."""

    needed = ""

    def __init__(self, references: Sequence[str]) -> None:
        """Raises UsageError unless agent, world and verifier are each named once, by digest; `tests` may be named too."""
        self._references = {room: reference for reference in references for room in [_room(reference)]}
        if len(self._references) < len(references):
            raise UsageError("--images names an image twice", hint="harness images --push PREFIX prints what to name")
        if missing := [room for room in ROOMS if room not in self._references]:
            raise UsageError(f"--images lacks {', '.join(missing)}", hint="harness images --push PREFIX prints what to name")
        places = sorted({reference.rpartition("/")[0] for reference in self._references.values()})
        self.told = f"on images at {', '.join(places)}, each by its digest"

    def files(self, task: Task) -> Files:
        """The folder with every image of ours under its digest, and the tests' image as the verifier where there is one."""
        given = contents_of(task.path)
        files = {name: self._pinned(content) if _names_images(name) else content for name, content in given.items()}
        if TESTS_ROOM in self._references:
            files["task.toml"] = _with_verifier(task, files["task.toml"], self._references[TESTS_ROOM])
        return files

    def _pinned(self, content: Content) -> Content:
        text = content.data.decode("utf-8", "surrogateescape")
        text = _BASE.sub(lambda image: self._references[image[1]], text)
        return content._replace(data=text.encode("utf-8", "surrogateescape"))


def name_of_tests(task: Task) -> str:
    """Under which name the image with everybody's tests holds those of a task: another version of them has another name."""
    return f"{task.task_id}-{task.digest[:16]}"


def _names_images(name: str) -> bool:
    return name.rpartition("/")[2] in _NAMES_IMAGES


def _room(reference: str) -> str:
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        known = ", ".join((*ROOMS, TESTS_ROOM))
        raise UsageError(
            f"--images {reference} is not PREFIX/ROOM@sha256:DIGEST with a ROOM of {known}", hint="harness images --push PREFIX"
        )
    return match["room"]


def _with_verifier(task: Task, toml: Content, image: str) -> Content:
    if task.file.verifier.environment is not None or task.file.verifier.env:
        raise TaskInvalid(f"{task.path}/task.toml:1: a verifier with an environment of its own cannot be given another image")
    limits = f"cpus = {task.file.environment.cpus or 1:g}\nmemory_mb = {task.file.environment.memory_mb or 1024:g}\n"
    tables = (
        f'\n[verifier.env]\n{TESTS_VARIABLE} = "{name_of_tests(task)}"\n'
        f'\n[verifier.environment]\ndocker_image = "{image}"\n{limits}'
    )
    return toml._replace(data=toml.data.rstrip() + b"\n" + tables.encode())
