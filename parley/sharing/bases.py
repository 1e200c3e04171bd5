"""Base images of exported tasks: local image names, images pinned by digest on a registry, or none (`StandaloneBases`).

Standalone tasks build on a plain Python image and contain the sources of our base images: each docker/<name>/Dockerfile and the
files that it copies. Of `worlds` and `validators`, only the shared part and that of the family are included. All tasks of a
family have the same layers below their own files, so an engine builds these layers once.

When our images are pushed, the base images become PREFIX/agent, PREFIX/world, PREFIX/verifier, tagged with the hash of their
inputs, and PREFIX/tests is the verifier with the hidden tests of many tasks, for runners that build no images. A task names its
own tests with their digest, so one of another release gets an error instead of a verdict. Credentials are `docker login`'s.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harness.errors import RuntimeFailure, TaskInvalid, UsageError
from harness.paths import ROOT, recipes
from harness.plugins import families
from harness.pod import ROOMS, TESTS_ROOM, Say
from harness.registry import Task, contents_of
from harness.runtimes.docker.engine.client import Engine
from harness.runtimes.docker.engine.images import ROOM_LABEL, Context, Images, folder_context
from harness.safe_read import Content

Files = Mapping[str, Content]
"""Mapping from relative path to content, for one exported task."""

TESTS_VARIABLE = "PARLEY_TESTS"
"""Variable of that image that names the tests to run; docker/tests/test.sh reads it."""

_BASE = re.compile(rf"\bparley/({'|'.join(ROOMS)}):1(?![\w.-])")
_REFERENCE = re.compile(rf"(?P<where>[a-z0-9][a-z0-9._:/-]*)/(?P<room>{'|'.join((*ROOMS, TESTS_ROOM))})@sha256:[0-9a-f]{{64}}")
_NAMES_IMAGES = ("task.toml", "Dockerfile", "docker-compose.yaml")


class LocalBases:
    """The image names that `harness images` creates, for hosts on which it has run.

    `told` is a clause that names the base of the tasks. `needed` is a sentence for the card about steps before a build; it
    may be empty.
    """

    told = "on parley/agent:1, parley/world:1 and parley/verifier:1"
    needed = "Build the base images once on each machine: `make images` in a checkout of Parley."

    def files(self, task: Task) -> Files:
        """Return the files of the task's folder unchanged."""
        return contents_of(task.path)


class PinnedBases:
    """Images on a registry, pinned by digest."""

    needed = ""

    def __init__(self, references: Sequence[str]) -> None:
        """Raise UsageError unless agent, world and verifier are each named once, by digest; `tests` may be named too."""
        self._references = {room: reference for reference in references for room in [_room(reference)]}
        if len(self._references) < len(references):
            raise UsageError("--images has the same image twice", hint="see the output of harness images --push PREFIX")
        if missing := [room for room in ROOMS if room not in self._references]:
            raise UsageError(f"--images lacks {', '.join(missing)}", hint="see the output of harness images --push PREFIX")
        places = sorted({reference.rpartition("/")[0] for reference in self._references.values()})
        self.told = f"on images at {', '.join(places)}, each by its digest"

    def files(self, task: Task) -> Files:
        """Return the folder with pinned images; the verifier is the tests' image, if given."""
        given = contents_of(task.path)
        files = {
            name: self._pinned(content) if name.rpartition("/")[2] in _NAMES_IMAGES else content
            for name, content in given.items()
        }
        if TESTS_ROOM in self._references:
            files["task.toml"] = _with_verifier(task, files["task.toml"], self._references[TESTS_ROOM])
        return files

    def _pinned(self, content: Content) -> Content:
        text = content.data.decode("utf-8", "surrogateescape")
        text = _BASE.sub(lambda image: self._references[image[1]], text)
        return content._replace(data=text.encode("utf-8", "surrogateescape"))


def name_of_tests(task: Task) -> str:
    """Return the name of a task's tests in the shared tests image. Each version of the tests has its own name."""
    return f"{task.task_id}-{task.digest[:16]}"


def _room(reference: str) -> str:
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        known = ", ".join((*ROOMS, TESTS_ROOM))
        raise UsageError(
            f"--images {reference} is not PREFIX/NAME@sha256:DIGEST where NAME is {known}", hint="harness images --push PREFIX"
        )
    return match["room"]


def _with_verifier(task: Task, toml: Content, image: str) -> Content:
    if task.file.verifier.environment is not None or task.file.verifier.env:
        raise TaskInvalid(f"{task.path}/task.toml:1: --images cannot replace the image of [verifier.environment]")
    limits = f"cpus = {task.file.environment.cpus or 1:g}\nmemory_mb = {task.file.environment.memory_mb or 1024:g}\n"
    tables = (
        f'\n[verifier.env]\n{TESTS_VARIABLE} = "{name_of_tests(task)}"\n'
        f'\n[verifier.environment]\ndocker_image = "{image}"\n{limits}'
    )
    return toml._replace(data=toml.data.rstrip() + b"\n" + tables.encode())


PLAIN_BASE = "python:3.12-slim"

FOLDERS = {"agent": "environment/agent", "world": "environment/world", "verifier": "tests/verifier"}
"""Folder of a task with the sources of each of its machines."""

CONTEXTS = {"agent": "environment", "world": "environment", "verifier": "tests"}
"""Build context of each machine."""

_COPY = re.compile(r"^COPY (?P<sources>.+) (?P<target>\S+)$", re.MULTILINE)
_HEAD = re.compile(r"\A(?:#.*\n)*ARG BASE=\S+\nFROM \$\{BASE\}\n")
_IMAGE = re.compile(r"(?m)^docker_image = .*\n")
_MAIN = "    image: parley/agent:1\n"
_BUILT_MAIN = '    build: { context: "${CONTEXT_DIR:-.}" }\n'
_WORLD = """\
      context: ./api
      dockerfile_inline: |
        FROM parley/world:1
        COPY . /srv/world/
"""
_BUILT_WORLD = "      context: .\n      dockerfile: world/Dockerfile\n"


class StandaloneBases:
    """A plain base image: any Debian with python3 (3.11 or later), pip and venv."""

    needed = ""

    def __init__(self, base: str = PLAIN_BASE, root: Path = ROOT) -> None:
        """Read the recipes' location. Raise UsageError if the recipes are missing."""
        if not recipes(root).is_dir():
            raise UsageError(f"--standalone is made from the recipes in {recipes(root)}, which are missing")
        self._base, self._root = base, root
        self.told = f"on {base} alone"

    def files(self, task: Task) -> Files:
        """Return the task's folder with the sources of its machines and Dockerfiles that use them."""
        own = dict(contents_of(task.path))
        for name in ("environment/Dockerfile", "environment/api/Dockerfile"):
            if name in own:
                raise TaskInvalid(f"{task.path}/{name}:1: --standalone does not support a Dockerfile of the task's own")
        carried = {name: content for room in FOLDERS for name, content in _carried(self._root, room, task.family).items()}
        dockerfiles = {
            "environment/Dockerfile": self._recipe("agent"),
            "environment/world/Dockerfile": self._recipe("world", "COPY api /srv/world/"),
            "tests/Dockerfile": self._recipe("verifier", *_copied_tests(own)),
        }
        texts = {
            **dockerfiles,
            "task.toml": _IMAGE.sub("", _text(own["task.toml"])),
            "environment/docker-compose.yaml": _built(task, _text(own["environment/docker-compose.yaml"])),
        }
        return {**own, **carried, **{name: Content(text.encode(), executable=False) for name, text in texts.items()}}

    def _recipe(self, room: str, *more: str) -> str:
        """Return the Dockerfile of a base image, based on the plain image, with COPY paths inside the task."""
        text = (recipes(self._root) / room / "Dockerfile").read_text(encoding="utf-8")
        place = FOLDERS[room].removeprefix(CONTEXTS[room] + "/")

        def moved(copy: re.Match[str]) -> str:
            sources = (f"{place}/{source.removeprefix(f'docker/{room}/')}" for source in copy["sources"].split())
            return f"COPY {' '.join(sources)} {copy['target']}"

        if not _HEAD.match(text):
            raise UsageError(f"docker/{room}/Dockerfile does not begin with ARG BASE and FROM")
        made = _HEAD.sub(f"FROM {self._base}\n", _COPY.sub(moved, text))
        return "\n".join(["# Written by `harness export harbor --standalone`.", made.rstrip("\n"), *more, ""])


Bases = LocalBases | PinnedBases | StandaloneBases
"""A kind of base images for exported tasks."""


@cache
def _carried(root: Path, room: str, family: str) -> Files:
    """Return the files that docker/`room`/Dockerfile copies, at their paths in a task of this family."""
    text = (recipes(root) / room / "Dockerfile").read_text(encoding="utf-8")
    sources = [source for copy in _COPY.finditer(text) for source in copy["sources"].split()]
    files: dict[str, Content] = {}
    for source in sources:
        name = source.removeprefix(f"docker/{room}/")
        if (root / source).is_dir():
            inner = {path: content for path, content in contents_of(root / source).items() if _is_for(path, family)}
            files |= {f"{FOLDERS[room]}/{name}/{path}": content for path, content in inner.items()}
        else:
            folder, _, file = source.rpartition("/")
            files[f"{FOLDERS[room]}/{name}"] = contents_of(root / folder)[file]
    return files


def _is_for(path: str, family: str) -> bool:
    """Return True if a file of `worlds` or `validators` is shared or belongs to this family."""
    top = path.partition("/")[0]
    others = {name.replace("-", "_") for name in families() if name != family}
    return top not in others and not top.endswith(".egg-info")


def _copied_tests(own: Files) -> Iterator[str]:
    """Yield COPY lines for the hidden tests, one per folder, without the verifier's sources, which are in the same folder."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(own):
        top, _, inner = name.partition("/")
        if top == "tests" and inner != "Dockerfile":
            names[inner.rpartition("/")[0]].append(inner)
    for folder, files in names.items():
        yield f"COPY {' '.join(files)} /tests/{folder}{'/' if folder else ''}"


def _built(task: Task, compose: str) -> str:
    """Return the compose file, with machines that are built from the folder."""
    for ours, built in ((_MAIN, _BUILT_MAIN), (_WORLD, _BUILT_WORLD)):
        if compose.count(ours) != 1:
            place = f"{task.path}/environment/docker-compose.yaml:1"
            raise TaskInvalid(f"{place}: --standalone supports only the family's own", hint=f"harness sync {task.task_id}")
        compose = compose.replace(ours, built)
    return compose


def _text(content: Content) -> str:
    return content.data.decode("utf-8")


_PREFIX = re.compile(r"[a-z0-9][a-z0-9.-]*(:\d+)?(/[a-z0-9][a-z0-9._-]*)*")
_RECIPE = f"docker/{TESTS_ROOM}/Dockerfile"


def push(engine: Engine, images: Images, prefix: str, tasks: Mapping[str, Task], say: Say) -> Iterator[str]:
    """Push base images and tasks' tests, and yield each `PREFIX/NAME@sha256:...`. Raises UsageError, RuntimeFailure."""
    if not _PREFIX.fullmatch(prefix):
        raise UsageError(f"{prefix!r} is not a prefix of image names (HOST[:PORT]/NAME)", hint="make images PUSH=HOST/NAME")
    tags = dict(images.build_bases(say=say))
    tags[TESTS_ROOM] = _build_tests(images, tags["verifier"], tasks, say)
    for room, tag in tags.items():
        say(f"pushing {prefix}/{room}")
        yield f"{prefix}/{room}@{_pushed(engine, tag, f'{prefix}/{room}')}"


def _build_tests(images: Images, verifier: str, tasks: Mapping[str, Task], say: Say) -> str:
    files = dict(folder_context(recipes() / TESTS_ROOM, f"docker/{TESTS_ROOM}/").files)
    for tests, task in tasks.items():
        inner = contents_of(task.path, "tests").items()
        files |= {f"tests/{tests}/{name}": content for name, content in inner if name != "Dockerfile"}
    context = Context(files, _RECIPE)
    tag = f"parley/{TESTS_ROOM}:{context.digest(images.image_id(verifier) or verifier)}"
    say(f"building {tag} with the tests of {len(tasks)} tasks")
    return images.build(context, tag, {ROOM_LABEL: TESTS_ROOM}, {"BASE": verifier})


def _pushed(engine: Engine, tag: str, repository: str) -> str:
    """Push an image and return the digest that the registry gave it."""
    version = tag.rpartition(":")[2]
    with engine.doing(f"pushing {repository}") as api:
        api.tag(tag, repository, version, force=True)
        try:
            # read to the end even after an error, because the connection closes there
            said = list(api.push(repository, tag=version, stream=True, decode=True))
        finally:
            # the pushed name is temporary; the image keeps its local name
            api.remove_image(f"{repository}:{version}", noprune=True)
    return _digest(said, repository)


def _digest(messages: Sequence[Mapping[str, Any]], repository: str) -> str:
    digest = ""
    for message in messages:
        if "error" in message:
            host = repository.partition("/")[0]
            raise RuntimeFailure(f"pushing {repository}: {message['error']}", hint=f"docker login {host}")
        digest = message.get("aux", {}).get("Digest", digest)
    if not digest:
        raise RuntimeFailure(f"pushing {repository}: the registry returned no digest", hint=f"docker push {repository}")
    return digest
