"""Images go to a registry and come back by digest: a real one, Debian's docker-registry, on a port of this host."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.errors import RuntimeFailure, UsageError
from harness.registry import Task
from harness.runtimes.docker.runtime import DockerRuntime
from parley.sharing.bases import PinnedBases, name_of_tests, push

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def references(image_registry: str, runtime: DockerRuntime, presigned: Task) -> Iterator[list[str]]:
    """What was pushed: base images, and one with the tests of one task."""
    yield list(
        push(
            runtime.engine, runtime.images, f"{image_registry}/parley", {name_of_tests(presigned): presigned}, lambda line: None
        )
    )
    # the digest went on with the image's name here
    for image in runtime.engine.api.images(filters={"reference": f"{image_registry}/parley/*"}):
        for name in (*(image["RepoTags"] or ()), *(image["RepoDigests"] or ())):
            if name.startswith(image_registry):
                runtime.engine.api.remove_image(name, noprune=True)


def test_every_room_is_there_under_its_digest(image_registry: str, runtime: DockerRuntime, references: list[str]) -> None:
    """Four references that an export takes, each of which the registry hands out."""
    assert [reference.partition("@")[0] for reference in references] == [
        f"{image_registry}/parley/{room}" for room in ("agent", "world", "verifier", "tests")
    ]
    assert "each by its digest" in PinnedBases(references).told
    for reference in references:
        runtime.engine.api.pull(reference)
        assert runtime.images.image_id(reference)
    tagged = [
        tag for image in runtime.engine.api.images(name=f"{image_registry}/parley/agent") for tag in image["RepoTags"] or ()
    ]
    assert [tag for tag in tagged if tag.startswith(image_registry) and "<none>" not in tag] == []


def test_the_image_with_tests_judges_the_named_task_alone(
    runtime: DockerRuntime, references: list[str], presigned: Task
) -> None:
    """With its name the hidden tests run (and find no log); with another name, or none, there is no reward at all."""
    known = _judged(runtime, references[3], f"PARLEY_TESTS={name_of_tests(presigned)}")
    other, none = (_judged(runtime, references[3], *given) for given in ([f"PARLEY_TESTS={presigned.task_id}-0000"], []))

    assert '{"reward": 0' in known
    for said in (other, none):
        assert "this image holds no tests called" in said
        assert "exit 2" in said
        assert "reward" not in said.replace("no reward", "")


def test_a_registry_that_is_not_there_is_named(runtime: DockerRuntime, presigned: Task) -> None:
    """The engine's own words, and the command that logs in."""
    with pytest.raises(RuntimeFailure, match=r"pushing 127\.0\.0\.1:1/parley/agent") as caught:
        list(
            push(runtime.engine, runtime.images, "127.0.0.1:1/parley", {name_of_tests(presigned): presigned}, lambda line: None)
        )

    assert caught.value.hint == "docker login 127.0.0.1:1"
    assert runtime.engine.api.images(name="127.0.0.1:1/parley/agent") == []


@pytest.mark.parametrize("prefix", ["", "UPPER/case", "host/name:tag", "host/name@sha256:0", "-v"])
def test_what_is_no_prefix_is_refused(runtime: DockerRuntime, prefix: str) -> None:
    """Before anything is built or sent."""
    with pytest.raises(UsageError, match="is not a prefix of image names"):
        list(push(runtime.engine, runtime.images, prefix, {}, lambda line: None))


def _judged(runtime: DockerRuntime, image: str, *environment: str) -> str:
    """What test.sh says in that image, how it ended, and the reward that it left."""
    script = "bash /tests/test.sh 2>&1; echo exit $?; cat /logs/verifier/reward.json 2>/dev/null || echo no reward"
    container = runtime.engine.create(
        image, ["bash", "-c", script], host={"network_mode": "none"}, environment=list(environment)
    )
    try:
        runtime.engine.start(container)
        runtime.engine.api.wait(container, timeout=120)
        return bytes(runtime.engine.api.logs(container)).decode()
    finally:
        runtime.engine.remove(container)
