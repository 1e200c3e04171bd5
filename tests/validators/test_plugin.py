"""One pytest session, one verdict per episode: reward 0 and the reason whenever a check did not run and pass."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agents.solutions import players
from harness.pod import Judgement
from harness.registry import Task
from harness.runtimes.judging import judge_in_process
from worlds.core.testing import client, world_in_process

Judge = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="session")
def logs(presigned: Task) -> dict[str, bytes]:
    """The event logs of the oracle, of two violations, and of nobody."""
    made = {}
    for name in ("solve", "listed_order", "no_anchor", None):
        world = world_in_process(presigned.world_folder)
        with client(world) as api:
            try:
                if name is not None:
                    players(presigned)[name][1](api, world.world.instruction, lambda seconds: None)
            except Exception:  # noqa: BLE001 - a client that goes wrong may raise anything
                assert name != "solve"
        made[name or "nobody"] = world.log.dump()
    return made


@pytest.fixture
def judge(presigned: Task, logs: dict[str, bytes], tmp_path: Path) -> Judge:
    """Judges the oracle's log by a test file with this source; gives the verdict, with the reward file's content."""

    def judged(source: str) -> dict[str, Any]:
        (tmp_path / "tests").mkdir()
        (tmp_path / "tests" / "test_outcome.py").write_text(source, encoding="utf-8")
        (made,) = judge_in_process(replace(presigned, path=tmp_path, admitted=True), [logs["solve"]])
        return {**json.loads(made.verdict), "written": json.loads(made.reward)}

    return judged


def told(verdict: dict[str, Any]) -> tuple[bool, float, dict[str, float], Any]:
    """Success, both rewards, and the reason."""
    return verdict["success"], verdict["reward"], verdict["written"], verdict["failure_detail"].get("reason")


def test_every_check_passed(judge: Judge) -> None:
    """With every check passed the assessment stands, checks listed."""
    verdict = judge("def test_a(verdict):\n    assert verdict.success\ndef test_b(episode):\n    assert episode.goal\n")

    assert (True, 1.0, {"reward": 1.0}, None) == told(verdict)
    assert [{"name": "test_a", "ok": True, "message": ""}, {"name": "test_b", "ok": True, "message": ""}] == verdict["checks"]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def test_a(episode):\n    raise ValueError('bad')\n", "bad"),
        ("def test_a(episode): pass\ndef test_b(episode):\n    assert not 'this'\n", "assert not 'this'"),
        ("def test_a(episode): pass\ndef test_b(): raise ValueError('alone')\n", "alone"),
        ("def test_a(episode, certificate): pass\n", "oracle.json"),
        ("def test_a(episode, nothing): pass\n", "nothing"),
        (
            "import pytest\n@pytest.fixture\ndef f():\n    yield\n    raise ValueError('torn')\ndef test_a(episode, f): pass\n",
            "torn",
        ),
        ("import pytest\ndef test_a(episode): pytest.skip('later')\n", "later"),
        ("import pytest\ndef test_a(episode): pass\n@pytest.mark.skip(reason='later')\ndef test_b(episode): pass\n", "later"),
        ("import nowhere_at_all\ndef test_a(episode): pass\n", "the session was interrupted or a test file does not import"),
        ("def test_a(episode: pass\n", "the session was interrupted or a test file does not import"),
        ("def helper(episode): pass\n", "no test ran"),
        ("", "no test ran"),
    ],
    ids=[
        "raise",
        "assert",
        "plain",
        "certificate",
        "fixture",
        "teardown",
        "skip",
        "mark",
        "import",
        "syntax",
        "helper",
        "empty",
    ],
)
def test_reward_0_and_the_reason(judge: Judge, source: str, why: str) -> None:
    """Whatever keeps a check from passing takes the reward, and the verdict says what it was."""
    success, reward, written, reason = told(judge(source))

    assert (False, 0.0, {"reward": 0.0}) == (success, reward, written)
    assert why in reason


def test_certificate_is_read_from_beside_the_test(judge: Judge, tmp_path: Path) -> None:
    """The certificate fixture is oracle.json of the tests folder."""
    source = (
        "from pathlib import Path\nPath(__file__).with_name('oracle.json').write_text('{\"optimum\": 7}')\n"
        "def test_a(certificate, verdict): assert certificate == {'optimum': 7}\n"
    )

    assert told(judge(source))[0] is True


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (b"", "the log is empty"),
        (b"garbage", "the log ends in the middle of a line"),
        (b"{}\n", "line 1 is not an event: Unable to extract tag using discriminator 'type'"),
    ],
)
def test_unreadable_log(presigned: Task, log: bytes, why: str) -> None:
    """A log that is none is judged 0 with the reason."""
    verdict = json.loads(judge_in_process(presigned, [log])[0].verdict)

    assert (0.0, {"reason": "unreadable", "why": why}) == (verdict["reward"], verdict["failure_detail"])


def test_broken_chain(presigned: Task, logs: dict[str, bytes]) -> None:
    """One forged byte in an oracle's log is enough."""
    forged = logs["solve"].replace(b'"status":200', b'"status":201', 1)
    verdict = json.loads(judge_in_process(presigned, [forged])[0].verdict)

    assert (0.0, "line 2 was altered: its hash does not match") == (verdict["reward"], verdict["failure_detail"]["why"])


@pytest.mark.parametrize(
    ("name", "label"),
    [("solve", "SUCCESS"), ("listed_order", "EXPIRED_BEFORE_USE"), ("no_anchor", "MISSING_CONSTRAINT"), ("nobody", "OTHER")],
)
def test_real_validator(presigned: Task, logs: dict[str, bytes], name: str, label: str) -> None:
    """The task's own hidden tests keep the label of the assessment."""
    (made,) = judge_in_process(presigned, [logs[name]])

    assert (label, {"reward": float(label == "SUCCESS")}) == (
        json.loads(made.verdict)["failure_label"],
        json.loads(made.reward),
    )


def test_batch_equals_one_by_one(presigned: Task, logs: dict[str, bytes]) -> None:
    """Judged together or alone, the verdicts are the same bytes."""
    many = [*logs.values(), b"broken", *logs.values()]

    assert [(j.reward, j.verdict) for j in judge_in_process(presigned, many)] == [
        (j.reward, j.verdict) for log in many for j in judge_in_process(presigned, [log])
    ]


@pytest.mark.property
def test_five_hundred_in_one_session(presigned: Task, logs: dict[str, bytes]) -> None:
    """Hundreds of episodes are one session."""
    judged = judge_in_process(presigned, [logs["solve"], logs["nobody"]] * 250)

    assert [b'{"reward": 1.0}\n', b'{"reward": 0.0}\n'] * 250 == [made.reward for made in judged]


def session(tests: Path, listing: Path) -> subprocess.CompletedProcess[str]:
    """The plugin as a verifier container starts it, in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "validators.plugin",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tests),
    ]
    command += ["-c", "/dev/null", "--import-mode=importlib", "--parley-episodes", str(listing), str(tests / "test_outcome.py")]
    return subprocess.run(command, cwd=tests, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.property
def test_a_process_of_its_own_gives_the_same_bytes(presigned: Task, logs: dict[str, bytes], tmp_path: Path) -> None:
    """A verifier's process writes the verdicts that this process makes; a missing log is judged 0; nothing else is left."""
    rows = []
    for name, log in logs.items():
        (tmp_path / f"{name}.jsonl").write_bytes(log)
        rows.append({"id": name, "log": str(tmp_path / f"{name}.jsonl"), "out": str(tmp_path / name)})
    rows.append({"id": "missing", "log": str(tmp_path / "none.jsonl"), "out": str(tmp_path / "deep" / "missing")})
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    session(presigned.path / "tests", tmp_path / "list.jsonl")
    written = [
        Judgement(*(tmp_path.joinpath(name, f"{part}.json").read_bytes() for part in ("reward", "verdict"))) for name in logs
    ]
    missing = json.loads((tmp_path / "deep" / "missing" / "verdict.json").read_bytes())

    assert [(j.reward, j.verdict) for j in judge_in_process(presigned, [*logs.values()])] == [
        (j.reward, j.verdict) for j in written
    ]
    assert (0.0, f"[Errno 2] No such file or directory: '{tmp_path}/none.jsonl'") == (
        missing["reward"],
        missing["failure_detail"]["why"],
    )
    assert ["reward.json", "verdict.json"] == sorted(path.name for path in (tmp_path / "solve").iterdir())


def test_judging_leaves_this_process_alone(presigned: Task, logs: dict[str, bytes], capfd: pytest.CaptureFixture[str]) -> None:
    """A session prints nothing, keeps no module, and puts the streams it found back."""
    modules, streams = set(sys.modules), (sys.stdout, sys.stderr)
    (made,) = judge_in_process(presigned, [logs["solve"]])

    assert (("", ""), streams) == (tuple(capfd.readouterr()), (sys.stdout, sys.stderr))
    assert not [name for name in set(sys.modules) - modules if "outcome" in name]
    assert made.log == b"".join(
        f"passed test_outcome.py::{name}\n".encode()
        for name in ("test_contracts_kept", "test_log_is_sound", "test_every_part_was_downloaded")
    )
