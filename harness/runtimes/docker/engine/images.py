"""Docker images, named by a hash of their inputs, so an unchanged folder is never rebuilt and a changed one never reused.

A tag is the hash of the build context, its Dockerfile, the arguments and the id of its base image. The base images
parley/agent, parley/world and parley/verifier are also tagged `:1`, the name on which task Dockerfiles (and so Harbor) build.
Their own base is PARLEY_BASE, else python:3.12-slim, else the image of docker/bootstrap.sh. A task's Dockerfile that consists
of `FROM parley/<room>:1` needs no build. Contexts are in-memory archives, so the engine may be on another machine.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import threading
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import ImageFailure, RuntimeFailure, TaskInvalid, quoted
from harness.paths import ROOT, recipes
from harness.pod import ROOMS, Say
from harness.registry import Task, contents_of, inner_links
from harness.runtimes.archives import pack
from harness.runtimes.docker.engine.client import Engine
from harness.runtimes.docker.engine.dockerfile import instructions
from harness.runtimes.recipes import plain_recipe
from harness.safe_read import Content

BASE = "python:3.12-slim"
BOOTSTRAPPED = "parley/base:bookworm"
BUILD_LIMIT_S = 1800
TASK_LABEL, ROOM_LABEL = "parley.task", "parley.room"
_NOISE = re.compile(r" ---> |Step \d+/|Removing intermediate container ")
_STEP = re.compile(r"Step (\d+)/\d+ : ")
_OURS_NAMED = re.compile(r"parley/\w+(?::|$)")
_OURS = re.compile(r"^([ \t]*FROM[ \t]+)parley/(\w+):1(?=\s|$)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Context:
    """Build context: files by path, links with their targets, and the name of the Dockerfile."""

    files: Mapping[str, Content]
    dockerfile: str = "Dockerfile"
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Text of the Dockerfile."""
        return self.files[self.dockerfile].data.decode("utf-8", "replace")

    @property
    def recipe(self) -> list[str]:
        """Lines of the Dockerfile without comments and blank lines."""
        lines = (line.strip() for line in self.text.splitlines())
        return [line for line in lines if line and not line.startswith("#")]

    def digest(self, *more: str) -> str:
        """Return the SHA-256 over every path, mode and content, and all other inputs of the image."""
        total = hashlib.sha256("\0".join((self.dockerfile, *more)).encode())
        for name, (data, executable) in sorted(self.files.items()):
            total.update(b"\0%d:%s%d:%d:" % (len(name.encode()), name.encode(), executable, len(data)) + data)
        for name, target in sorted(self.links.items()):
            total.update(f"\0{name}\0->\0{target}".encode())
        return total.hexdigest()[:24]

    def archive(self) -> bytes:
        """Return the context as a tar archive; the same files give the same bytes."""
        executable = {name for name, file in self.files.items() if file.executable}
        return pack({name: file.data for name, file in self.files.items()}, executable=executable, links=self.links)


def folder_context(folder: Path, prefix: str = "", part: str = "") -> Context:
    """Return a context of every file of `folder/part` except caches, below `prefix`; raises TaskInvalid if one is not plain."""
    return Context({prefix + name: file for name, file in contents_of(folder, part).items()})


def linked_context(folder: Path, dockerfile: str = "Dockerfile") -> Context:
    """Return a context of every file of a folder and its internal links; raises TaskInvalid if anything else is not plain."""
    return Context(contents_of(folder, links=""), dockerfile, inner_links(folder))


class Images:
    """Images of one engine, built on demand."""

    def __init__(self, engine: Engine, root: Path = ROOT) -> None:
        self._engine, self._root = engine, root
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._bases: dict[str, str] = {}

    def build_bases(self, force: bool = False, say: Say = lambda line: None) -> dict[str, str]:
        """Build the base images that changed, and return their tags by kind. `force` ignores existing images."""
        with self._locks["bases"]:
            if not recipes(self._root).is_dir():
                self._bases = {room: self._existing_base(room) for room in ROOMS}
            elif force or not self._bases:
                base = self._foundation(say)
                self._bases = {room: self._build_base(room, base, force, say) for room in ROOMS}
            return dict(self._bases)

    def build_prover(self, say: Say = lambda line: None) -> str:
        """Return the prover's image, built on first use and if something changed."""
        with self._locks["prover"]:
            if not recipes(self._root).is_dir():
                return self._existing_base("prover")
            return self._build_base("prover", self._foundation(say), False, say)

    def have_bases(self) -> bool:
        """Return True if all base images exist, in any version."""
        return all(self.image_id(f"parley/{room}:1") for room in ROOMS)

    def task_images(self, task: Task) -> dict[str, str]:
        """Return the image of each container of one of our tasks, built if something changed."""
        folders = {"agent": "environment", "world": "environment/api", "verifier": "tests"}
        return {room: self._task_image(task, room, folder) for room, folder in folders.items()}

    def build(
        self, context: Context, tag: str, labels: Mapping[str, str], args: Mapping[str, str] | None = None, force: bool = False,
        folder: Path | None = None,
    ) -> str:  # fmt: skip
        """Build one image unless its tag exists, and return the tag. `folder` is the path of the context for messages."""
        with self._locks[tag]:
            if not force and self.image_id(tag):
                return tag
            with self._engine.doing(f"building {tag}") as api:
                stream = api.build(
                    fileobj=io.BytesIO(context.archive()), custom_context=True, dockerfile=context.dockerfile, tag=tag,
                    rm=True, forcerm=True, nocache=force, labels=dict(labels), buildargs=dict(args or {}), decode=True,
                    timeout=BUILD_LIMIT_S,
                )  # fmt: skip
                _follow(stream, tag, context, folder)
        return tag

    def image_id(self, name: str) -> str | None:
        """Return the id that an image name refers to now, or None."""
        with self._engine.doing(f"looking for image {name}") as api:
            try:
                # a filtered listing would search all images for each of many tasks
                return str(api.inspect_image(name)["Id"])
            except self._engine.gone:
                return None

    def need(self, name: str, place: str = "") -> None:
        """Pull an image if it is missing; raises ImageFailure with the `place` that needs it (`path:line`) if that fails."""
        with self._locks[name]:
            if self.image_id(name):
                return
            if why := self._engine.pull(name):
                where = f"{place}: " if place else ""
                hint = "harness images" if _OURS_NAMED.match(name) else f"docker pull {name}"
                raise ImageFailure(f"{where}image {name} is missing and cannot be pulled: {why}", hint=hint)

    def clean_images(self, task_id: str | None = None) -> list[str]:
        """Remove all but the newest image of each container of each task, or of one task, and return the removed tags."""
        removed: list[str] = []
        for tag in self.old_images(task_id):
            # images in use are removed by a later call
            with suppress(*self._engine.errors):
                self._engine.api.remove_image(tag)
                removed.append(tag)
        return removed

    def old_images(self, task_id: str | None = None) -> list[str]:
        """Return the tags of all but the newest image of each container of each task, or of one task."""
        chosen = TASK_LABEL if task_id is None else f"{TASK_LABEL}={task_id}"
        groups: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        with self._engine.doing("listing images") as api:
            for image in api.images(filters={"label": chosen}):
                groups[image["Labels"][TASK_LABEL], image["Labels"].get(ROOM_LABEL, "")].append(image)
        old = [i for group in groups.values() for i in sorted(group, key=lambda i: i["Created"])[:-1]]
        return [tag for image in old for tag in image["RepoTags"] or ()]

    def _task_image(self, task: Task, room: str, part: str) -> str:
        context = folder_context(task.path, part=part)
        if room == "agent":
            # the world's folder must not be in the image of `main`, nor cause a rebuild
            context = Context({name: file for name, file in context.files.items() if not name.startswith("api/")})
        bases = self.build_bases()
        if "Dockerfile" not in context.files:
            if (plain := plain_recipe(task, room)) is None:
                raise TaskInvalid(f"{task.path / part}/Dockerfile:1: the file is missing", hint=f"harness sync {task.task_id}")
            context = Context({**context.files, "Dockerfile": Content(plain.encode(), False)})
        recipe = context.recipe
        if len(recipe) == 1 and (base := _OURS.fullmatch(recipe[0])):
            return bases[base[2]]
        below = [bases[match[2]] for line in recipe if (match := _OURS.match(line))]
        tag = f"{image_name(task, room)}:{context.digest(*below)}"
        return self.build(_pinned(context, bases), tag, {TASK_LABEL: task.task_id, ROOM_LABEL: room}, folder=task.path / part)

    def _build_base(self, room: str, base: str, force: bool, say: Say) -> str:
        context = self._base_context(room)
        tag = f"parley/{room}:{context.digest(self.image_id(base) or base)}"
        if force or not self.image_id(tag):
            say(f"building parley/{room} on {base}")
        self.build(context, tag, {ROOM_LABEL: room}, {"BASE": base}, force)
        if self.image_id(tag) != self.image_id(f"parley/{room}:1"):
            with self._engine.doing(f"tagging {tag}") as api:
                api.tag(tag, f"parley/{room}", "1", force=True)
        return tag

    def _base_context(self, room: str) -> Context:
        """Return only the files that a base image's Dockerfile copies, so that other changes do not cause a rebuild."""
        dockerfile = f"docker/{room}/Dockerfile"
        files = dict(folder_context(recipes(self._root) / room, f"docker/{room}/").files)
        for line in Context(files, dockerfile).recipe:
            for source in line.split()[1:-1] if line.startswith("COPY ") else ():
                if (self._root / source).is_dir():
                    files |= folder_context(self._root / source, f"{source.rstrip('/')}/").files
        return Context(files, dockerfile)

    def _foundation(self, say: Say) -> str:
        """Return the image that base images are built on; raises RuntimeFailure if it is not available."""
        chosen = os.environ.get("PARLEY_BASE")
        if chosen or self.image_id(BASE):
            return chosen or BASE
        if self.image_id(BOOTSTRAPPED):
            return BOOTSTRAPPED
        say(f"pulling {BASE}")
        with suppress(*self._engine.errors):
            self._engine.api.pull(BASE)
        if not self.image_id(BASE):
            hint = f"{recipes(self._root)}/bootstrap.sh && harness images"
            raise RuntimeFailure(f"{BASE} cannot be pulled and {BOOTSTRAPPED} does not exist", hint=hint)
        return BASE

    def _existing_base(self, room: str) -> str:
        if not self.image_id(f"parley/{room}:1"):
            raise RuntimeFailure(f"the base image parley/{room}:1 is missing", hint="harness images")
        return f"parley/{room}:1"


def image_name(task: Task, room: str) -> str:
    """Return the repository name of the image of one container of a task, in characters that Docker allows."""
    parts = (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "x" for name in (task.task_id, room))
    return "/".join(("parley-task", *parts))


def _pinned(context: Context, bases: Mapping[str, str]) -> Context:
    """Return the context with our base images pinned to hashes, because another checkout may replace `:1` at any time."""
    written = context.files[context.dockerfile]
    pinned = _OURS.sub(lambda line: line[1] + bases[line[2]], written.data.decode("utf-8", "surrogateescape"))
    recipe = written._replace(data=pinned.encode("utf-8", "surrogateescape"))
    return Context({**context.files, context.dockerfile: recipe}, context.dockerfile)


def _follow(stream: Any, tag: str, context: Context, folder: Path | None) -> None:
    """Read the output of a build; raises ImageFailure with the Dockerfile's line, the error and the last lines before it."""
    said: list[str] = []
    step = 1
    for message in stream:
        line = str(message.get("stream", "")).rstrip()
        if begun := _STEP.match(line):
            step, said = int(begun[1]), []
        said = [*said[-20:], line]
        if "error" in message:
            tail = " / ".join(line for line in said if line and not _NOISE.match(line))[-600:]
            if folder is None:
                raise ImageFailure(f"building {tag}: {message['error']} ({tail})", hint="harness images")
            steps = instructions(context.text)
            file, at = folder / context.dockerfile, steps[min(step, len(steps)) - 1].line if steps else 1
            named = "" if context.dockerfile == "Dockerfile" else f"-f {quoted(file)} "
            why = f"{file}:{at}: the build failed: {message['error']}" + (f" ({tail})" if tail else "")
            raise ImageFailure(why, hint=f"docker build {named}{quoted(folder)}")
