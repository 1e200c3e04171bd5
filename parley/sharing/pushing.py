"""Pushing of our images to a registry, and the digests under which they can be pulled.

1. The base images become PREFIX/agent, PREFIX/world, PREFIX/verifier, tagged with the hash of their inputs.
2. PREFIX/tests is the verifier with the hidden tests of many tasks, for runners that build no images. A task names its own
tests with their digest, so a task of another release gets an error instead of a verdict.
3. Credentials are those of `docker login`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.errors import RuntimeFailure, UsageError
from harness.paths import recipes
from harness.pod import TESTS_ROOM, Say
from harness.registry import Task, contents_of
from harness.runtimes.docker.engine.client import Engine
from harness.runtimes.docker.engine.images import ROOM_LABEL, Context, Images, folder_context

_PREFIX = re.compile(r"[a-z0-9][a-z0-9.-]*(:\d+)?(/[a-z0-9][a-z0-9._-]*)*")
_RECIPE = f"docker/{TESTS_ROOM}/Dockerfile"


def push(engine: Engine, images: Images, prefix: str, tasks: Mapping[str, Task], say: Say) -> Iterator[str]:
    """Push the base images and the tests of these tasks under their names, and yield each `PREFIX/NAME@sha256:...`.

    Raises UsageError for an invalid prefix, and RuntimeFailure if the registry or the engine refuses.
    """
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
