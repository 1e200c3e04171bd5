"""Pinned images: named by digest wherever a task names one of ours, and refused where something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli

from harness.errors import UsageError
from harness.registry import Task, read_task
from parley.sharing.bases import LocalBases, PinnedBases, name_of_tests

AT = "registry.example:5000/parley"
DIGEST = "sha256:" + "ab" * 32
BASES = [f"{AT}/{room}@{DIGEST}" for room in ("agent", "world", "verifier")]
WRONG = [
    (BASES[:2], "--images lacks verifier"),
    ([*BASES, BASES[0]], "has the same image twice"),
    ([*BASES[:2], f"{AT}/verifier:1"], "is not PREFIX/NAME@sha256:DIGEST"),
    ([*BASES[:2], f"{AT}/prover@{DIGEST}"], "is not PREFIX/NAME@sha256:DIGEST"),
]


def test_each_image_is_under_its_digest(presigned: Task) -> None:
    """main, the world and the verifier build on what was named, and nothing names an image of this host."""
    files = PinnedBases(BASES).files(presigned)
    texts = {name: files[name].data.decode() for name in ("task.toml", "environment/docker-compose.yaml", "tests/Dockerfile")}

    assert tomli.loads(texts["task.toml"])["environment"]["docker_image"] == BASES[0]
    assert f"FROM {BASES[1]}\n" in texts["environment/docker-compose.yaml"]
    assert f"image: {BASES[0]}\n" in texts["environment/docker-compose.yaml"]
    assert f"FROM {BASES[2]}\n" in texts["tests/Dockerfile"]
    assert [name for name, text in texts.items() if ":1\n" in text or ':1"' in text] == []


def test_the_image_with_all_tests_is_the_verifier(presigned: Task, tmp_path: Path) -> None:
    """With it a task builds no verifier: task.toml names the image, and which of its tests to run."""
    files = PinnedBases([*BASES, f"{AT}/tests@{DIGEST}"]).files(presigned)
    verifier = tomli.loads(files["task.toml"].data.decode())["verifier"]
    for name, content in files.items():
        path = tmp_path / presigned.task_id / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.data)

    assert verifier["environment"]["docker_image"] == f"{AT}/tests@{DIGEST}"
    assert verifier["env"] == {"PARLEY_TESTS": name_of_tests(presigned)}
    assert presigned.digest[:16] in name_of_tests(presigned)
    # our own reader takes the folder, too
    assert read_task(tmp_path / presigned.task_id).file.verifier.is_separate


def test_without_a_choice_a_folder_stays_as_it_is(presigned: Task) -> None:
    """Names as `harness images` gives them."""
    files = LocalBases().files(presigned)

    assert files["task.toml"].data == (presigned.path / "task.toml").read_bytes()
    assert "environment/Dockerfile" not in files


@pytest.mark.parametrize(("references", "why"), WRONG, ids=["missing", "twice", "a tag", "no such room"])
def test_what_cannot_be_pinned_is_refused(references: list[str], why: str) -> None:
    """An image too few, too many, without digest, or of a room that tasks have no use for."""
    with pytest.raises(UsageError, match=why):
        PinnedBases(references)
