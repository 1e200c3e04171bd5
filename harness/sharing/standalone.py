"""Tasks that need none of our images: each carries what our base images are made of, and builds on a plain Python image.

1. The recipes are those of docker/<room>/Dockerfile, read when the export is made. What they COPY lies beside them in the
   exported folder: environment/agent, environment/world, tests/verifier.
2. Of `worlds` and `validators` a task carries the shared part and its own family's. Packages are installed by hash.
3. All tasks of a family have the same layers up to their own files, so an engine builds those once.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from harness.contents import Content
from harness.errors import TaskInvalid, UsageError
from harness.modules import families
from harness.places import ROOT, recipes
from harness.registry import Task, contents_of
from harness.sharing.bases import Files

PLAIN_BASE = "python:3.12-slim"

FOLDERS = {"agent": "environment/agent", "world": "environment/world", "verifier": "tests/verifier"}
"""Where a task carries what each of its machines is made of."""

CONTEXTS = {"agent": "environment", "world": "environment", "verifier": "tests"}
"""The build context of each machine."""

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
    """Nothing of ours: any Debian with a python3 (3.11 or later) that has pip and venv."""

    needed = ""

    def __init__(self, base: str = PLAIN_BASE, root: Path = ROOT) -> None:
        """Raises UsageError where the recipes are not there."""
        if not recipes(root).is_dir():
            raise UsageError(f"--standalone is made from the recipes in {recipes(root)}, which are missing")
        self._base, self._root = base, root
        self.told = f"on {base} alone"

    def files(self, task: Task) -> Files:
        """The folder, with what its machines are made of and recipes that use it."""
        own = dict(contents_of(task.path))
        for name in ("environment/Dockerfile", "environment/api/Dockerfile"):
            if name in own:
                raise TaskInvalid(f"{task.path}/{name}:1: a Dockerfile of its own is not carried by --standalone")
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
        """The recipe of a base image, on the plain base, with its parts where a task carries them."""
        text = (recipes(self._root) / room / "Dockerfile").read_text(encoding="utf-8")
        place = FOLDERS[room].removeprefix(CONTEXTS[room] + "/")

        def moved(copy: re.Match[str]) -> str:
            sources = (f"{place}/{source.removeprefix(f'docker/{room}/')}" for source in copy["sources"].split())
            return f"COPY {' '.join(sources)} {copy['target']}"

        if not _HEAD.match(text):
            raise UsageError(f"docker/{room}/Dockerfile does not begin with ARG BASE and FROM")
        made = _HEAD.sub(f"FROM {self._base}\n", _COPY.sub(moved, text))
        return "\n".join(["# Written by `harness export harbor --standalone`.", made.rstrip("\n"), *more, ""])


@cache
def _carried(root: Path, room: str, family: str) -> Files:
    """What the recipe of a room copies, where a task of this family carries it."""
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
    """Whether a file of `worlds` or `validators` is shared, or this family's own."""
    top = path.partition("/")[0]
    others = {name.replace("-", "_") for name in families() if name != family}
    return top not in others and not top.endswith(".egg-info")


def _copied_tests(own: Files) -> Iterator[str]:
    """The lines that bring the hidden tests, folder by folder: what the verifier is made of lies among them, and stays out."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(own):
        top, _, inner = name.partition("/")
        if top == "tests" and inner != "Dockerfile":
            names[inner.rpartition("/")[0]].append(inner)
    for folder, files in names.items():
        yield f"COPY {' '.join(files)} /tests/{folder}{'/' if folder else ''}"


def _built(task: Task, compose: str) -> str:
    """The compose file, with machines that are built from the folder."""
    for ours, built in ((_MAIN, _BUILT_MAIN), (_WORLD, _BUILT_WORLD)):
        if compose.count(ours) != 1:
            place = f"{task.path}/environment/docker-compose.yaml:1"
            raise TaskInvalid(
                f"{place}: is not the family's own, which --standalone knows", hint=f"harness sync {task.task_id}"
            )
        compose = compose.replace(ours, built)
    return compose


def _text(content: Content) -> str:
    return content.data.decode("utf-8")
