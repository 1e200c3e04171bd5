"""Whoever waits for the judge is judged with everybody else who waits, and gets exactly the verdict it would have alone."""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from harness.registry import Task
from harness.runtimes.judging import judge_in_process, judge_together
from parley.proof.plays import play


def test_together_is_as_alone(presigned: Task, rate_limit: Task) -> None:
    """Logs of two tasks, good and bad, judged from many threads at once: the same bytes as one by one."""
    cases = [
        (task, play(task, player, seed).log)
        for task in (presigned, rate_limit)
        for player in ("solve", "nop")
        for seed in (0, 1)
    ]
    with ThreadPoolExecutor(len(cases)) as pool:
        together = list(pool.map(lambda case: judge_together(*case), cases))

    assert [one.verdict for one in together] == [judge_in_process(task, [log])[0].verdict for task, log in cases]
    assert [json.loads(one.reward)["reward"] for one in together] == [1.0, 1.0, 0.0, 0.0] * 2


def test_the_environment_is_left_alone(presigned: Task) -> None:
    """A session of hidden tests sets no variable of the process: who reads them meanwhile would trip, and be blamed for it."""
    before = dict(os.environ)
    judge_in_process(presigned, [play(presigned, "solve", 0).log])

    assert dict(os.environ) == before


def test_certificate_is_the_tasks_own(presigned: Task, tmp_path: Path) -> None:
    """Two tasks with the same hidden tests share a session, and each episode is held against its own certificate."""
    log, cases = play(presigned, "solve", 0).log, []
    for name, optimum in (("one", 1), ("two", 2)):
        folder = tmp_path / name / "task"
        shutil.copytree(presigned.path, folder)
        test = "def test_a(certificate, verdict): assert certificate == {'optimum': 1}\n"
        (folder / "tests" / "test_outcome.py").write_text(test, encoding="utf-8")
        (folder / "tests" / "oracle.json").write_text(json.dumps({"optimum": optimum}), encoding="utf-8")
        cases.append((replace(presigned, path=folder, admitted=True), log))
    with ThreadPoolExecutor(2) as pool:
        judged = list(pool.map(lambda case: judge_together(*case), cases * 3))

    assert [json.loads(one.reward)["reward"] for one in judged] == [1.0, 0.0] * 3


def test_broken_tests_harm_nobody_else(presigned: Task, tmp_path: Path) -> None:
    """A task without its hidden test earns nothing, and its neighbour is judged all the same."""
    folder = tmp_path / "broken"
    shutil.copytree(presigned.path, folder)
    (folder / "tests" / "test_outcome.py").unlink()
    broken, log = replace(presigned, path=folder, admitted=True), play(presigned, "solve", 0).log
    with ThreadPoolExecutor(2) as pool:
        wrong, right = pool.submit(judge_together, broken, log), pool.submit(judge_together, presigned, log)

        assert json.loads(right.result().reward)["reward"] == 1.0
        assert json.loads(wrong.result().reward)["reward"] == 0.0
