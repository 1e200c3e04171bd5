"""Reading runs and sorting their episodes: same conditions share a row, others never do, and nothing is passed over."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.agents.llm.provider import library
from harness.errors import UsageError
from harness.registry import Task
from parley.families.contract.report import report
from parley.reports.evidence import Evidence, read_runs
from parley.reports.models import find_model, known_models
from tests.shipped import SHIPPED

Record = Callable[..., Path]
Gathered = Callable[..., Evidence]
Command = Callable[..., subprocess.CompletedProcess[str]]

ONE = {("a", 0): "SUCCESS"}


def names(evidence: Evidence) -> list[str]:
    """The rows of a report."""
    return [group.name for group in evidence.groups]


def test_a_folder_of_runs_is_its_runs(record: Record) -> None:
    """A folder, its parent, and both together name the same runs, each once, those of a sweep among them."""
    first, second, swept = record("first", ONE), record("second", ONE), record("sweep/tier=1k", ONE)

    assert [first, second, swept] == [run.path for run in read_runs([first, first.parent, second])]
    assert [swept] == [run.path for run in read_runs([swept.parent])]


def test_no_run(tmp_path: Path) -> None:
    """A folder without runs is a mistake."""
    with pytest.raises(UsageError) as refused:
        read_runs([tmp_path])

    assert f"{tmp_path} holds no run.json" == str(refused.value)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("{", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
        ('{"run": 1}', "status: Field required"),
    ],
)
def test_unreadable_result(record: Record, content: str, what: str) -> None:
    """A result that does not read is named, with what to do about it."""
    run = record("run", ONE)
    (path,) = run.glob("episodes/*/*/*/result.json")
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        read_runs([run])

    assert f"{path} is not a valid result of this version: {what}" == str(refused.value)
    assert f"the run's command again, with --resume {run}" == refused.value.hint


def test_a_damaged_result_hides_no_other(harness: Command, record: Record) -> None:
    """The report is of the episodes that read; the damaged one is named, and the exit code says that it is missing."""
    run = record("run", {("a", 0): "SUCCESS SUCCESS"})
    path = next(run.glob("episodes/*/a/s0-a2/result.json"))
    path.write_text("{", encoding="utf-8")
    done = harness("report", run, "--table", "leaderboard", "--no-published", "--json")
    (row,) = json.loads(done.stdout)["tables"][0]["rows"]
    ours = sum(task.family == "contract" for task in SHIPPED)
    next(run.glob("episodes/*/a/s0-a1/result.json")).write_text("{", encoding="utf-8")
    nothing = harness("report", run)

    assert (row["episodes"], row["status"]) == (1, f"0 of {ours} tasks and 1 other")
    assert done.returncode == nothing.returncode == 2
    assert done.stderr.startswith(f"left out: {path} is not a valid result of this version: Invalid JSON")
    assert done.stderr.endswith(
        f"harness: an episode is left out because of read errors\n  try: the run's command again, with --resume {run}\n"
    )
    assert (nothing.stdout, "2 episodes are left out" in nothing.stderr) == ("", True)


def test_unreadable_plan(record: Record) -> None:
    """A plan without seeds is none of this version."""
    run = record("run", ONE)
    plan = json.loads((run / "run.json").read_bytes())
    del plan["identity"]["seeds"]
    (run / "run.json").write_text(json.dumps(plan), encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        read_runs([run])

    assert f"{run}/run.json is not a valid plan of this version: identity.seeds: Field required" == str(refused.value)


def test_earlier_attempts_and_half_folders_do_not_count(record: Record, gathered: Gathered) -> None:
    """Evidence kept beside an episode, and what a killed run left half written, are no episodes."""
    run = record("run", ONE)
    (result,) = run.glob("episodes/*/*/*/result.json")
    for other in ("attempts/s0-a1.0", ".s0-a1.123.partial"):
        (result.parents[1] / other).mkdir(parents=True)
        (result.parents[1] / other / "result.json").write_bytes(result.read_bytes())

    assert [1] == [len(group.graded) for group in gathered(run).groups]


def test_runs_of_one_setup_are_pooled(record: Record, gathered: Gathered) -> None:
    """Two runs under the same conditions are one row, with the seeds of both."""
    evidence = gathered(record("x", {("a", 0): "SUCCESS"}, model="gpt-5"), record("y", {("a", 1): "OTHER"}, model="gpt-5"))
    (group,) = evidence.groups

    assert ("GPT-5 (shell)", {0, 1}, [("a", 0), ("a", 1)]) == (group.name, group.seeds, list(group.cells))


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"options": {"mutate": "clip=200"}}, "GPT-5 (shell, mutate=clip=200)"),
        ({"options": {"handles": True}}, "GPT-5 (shell, handles=true)"),
        ({"options": {"tier": "4k", "mitigate": "ttl"}}, "GPT-5 (shell, mitigate=ttl, tier=4k)"),
        ({"options": {"window_seconds": 30.0}}, "GPT-5 (shell, window_seconds=30)"),
        ({"requested": {"temperature": 1.0}}, "GPT-5 (shell, temperature=1)"),
        ({"requested": {"temperature": 0.0, "max_tokens": 512}}, "GPT-5 (shell, max_tokens=512)"),
        ({"requested": {}}, "GPT-5 (shell, temperature=unset)"),
        ({"budget": {"turns": 5}}, "GPT-5 (shell, turns=5)"),
        ({"key_digest": "abcdef0123456789"}, "GPT-5 (shell, edition abcdef01)"),
    ],
)
def test_other_conditions_are_another_row(record: Record, gathered: Gathered, changes: dict[str, Any], name: str) -> None:
    """Whatever is not the default is part of the name, and never averaged with the rest."""
    evidence = gathered(record("plain", ONE, model="gpt-5"), record("other", ONE, model="gpt-5", **changes))

    assert ["GPT-5 (shell)", name] == names(evidence)


@pytest.mark.parametrize("options", [{"mutate": ""}, {"handles": False}, {"stop_on_violation": False}])
def test_a_default_said_aloud_is_still_the_default(record: Record, gathered: Gathered, options: dict[str, Any]) -> None:
    """Setting an option to what it is anyway changes nothing."""
    assert ["oracle"] == names(gathered(record("x", ONE), record("y", ONE, options=options)))


def test_a_knob_at_its_default(record: Record, gathered: Gathered, presigned: Task) -> None:
    """A knob's default is the registry's to know: with it the two runs are one row, without it two."""
    runs = [record("x", ONE), record("y", ONE, planned=[presigned.task_id], options={"window_seconds": 40.0})]

    assert ["oracle"] == names(gathered(*runs, tasks=[presigned]))
    assert ["oracle", "oracle (window_seconds=40)"] == names(gathered(*runs))


def test_a_level_is_a_condition(record: Record, gathered: Gathered, presigned: Task) -> None:
    """Harder episodes never share a row with those of the published setting, nor levels with each other."""
    plain = record("plain", ONE, planned=[presigned.task_id])
    harder = [record(f"x{n}", ONE, planned=[presigned.task_id], options={"level": n}) for n in (2, 4)]

    assert ["oracle", "oracle (level=2)", "oracle (level=4)"] == names(gathered(plain, *harder, tasks=[presigned]))


def test_the_fine_print_tells_namesakes_apart(record: Record, gathered: Gathered) -> None:
    """Two ids of one model read the same until the fine print is shown."""
    evidence = gathered(record("x", ONE, model="gpt-5"), record("y", ONE, model="openai/gpt-5"))

    assert ["GPT-5 (shell) [gpt-5, prompt 99999999]", "GPT-5 (shell) [openai/gpt-5, prompt 99999999]"] == names(evidence)


def test_an_address_makes_no_row(record: Record, gathered: Gathered) -> None:
    """Model and provider decide who played; where they were asked is told under the first table, and splits nothing."""
    at = [f"http://127.0.0.1:{port}/v1" for port in (8001, 8002)]
    runs = [record(f"r{place}", ONE, model="openai/m", api_base=address) for place, address in enumerate(at)]
    evidence = gathered(*runs, record("other", ONE, model="azure/m"))
    first, second = report(evidence, ["leaderboard", "labels"], published=False)[:2]

    assert ["openai/m (shell)", "azure/m (shell)"] == names(evidence)
    assert [len(group.graded) for group in evidence.groups] == [2, 1]
    assert f"openai/m (shell) was called at {at[0]} and at {at[1]}" == first.notes[-1]
    assert not any("was called at" in note for note in second.notes)


def test_a_game_is_played_through_no_shell(record: Record, gathered: Gathered) -> None:
    """A model at seats has no interface to choose, so its row names none; nor is the episode apart that never opened."""
    seats = record("seats", {("a", 0): "SUCCESS", ("b", 0): "ungraded"}, model="gpt-5", interface="seats")
    path = seats / "episodes" / "contract" / "b" / "s0-a1" / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "interface": None}), encoding="utf-8")

    assert ["GPT-5"] == names(gathered(seats))


def test_ungraded_stand_apart(record: Record, gathered: Gathered) -> None:
    """A failure of a provider is counted, and is in no cell."""
    (group,) = gathered(record("run", {("a", 0): "SUCCESS ungraded"})).groups

    assert (1, 1, [1]) == (len(group.graded), len(group.ungraded), [len(cell) for cell in group.cells.values()])


def test_an_episode_that_never_opened_is_its_models(record: Record, gathered: Gathered) -> None:
    """The plan knows who was to play, also where the record does not."""
    run = record("run", {("a", 0): "SUCCESS", ("b", 0): "ungraded"}, model="gpt-5")
    path = run / "episodes" / "contract" / "b" / "s0-a1" / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "model": None, "interface": None}), encoding="utf-8")

    assert ["GPT-5 (shell)"] == names(gathered(run))


def test_retries_are_no_first_tries(record: Record, gathered: Gathered) -> None:
    """A retry joins its model's row, but neither its first tries nor its plan."""
    (group,) = gathered(record("x", ONE, model="m"), record("y", {("b", 0): "OTHER"}, model="m", hint="correct")).groups

    assert (["a"], 1, {"a": "0" * 64}) == (list(group.tasks), len(group.retries), group.planned)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-5", "GPT-5"),
        ("openai/gpt-5", "GPT-5"),
        ("azure/gpt-5", "GPT-5"),
        ("claude-opus-4-6", "Claude Opus 4.6"),
        ("huggingface/Qwen/Qwen3.5-9B", "Qwen3.5-9B"),
        ("Qwen/Qwen3.5-9B", "Qwen3.5-9B"),
        ("openai/Qwen/Qwen3.5-9B", "Qwen3.5-9B"),
        ("gpt-5-mini", None),
        ("gpt-4o", "GPT-4o"),
        ("openai/gpt-4o-2024-08-06", "GPT-4o"),
        ("gpt-4o-2024-11-20", None),
        ("gemini/gemini-3-flash-preview", "Gemini 3 Flash"),
        ("openai/anything", None),
        (None, None),
    ],
)
def test_models_by_id(model: str | None, name: str | None) -> None:
    """A model is known with or without its provider in front, and an unlisted one is simply unknown."""
    entry = find_model(model)

    assert name == (entry.name if entry else None)


def test_model_list() -> None:
    """Names are unique by kind and ids altogether, and sizes read as a leaderboard prints them."""
    known = known_models()
    ids = [entry.id for entry in known if entry.id]

    of_paper = Counter(family for entry in known for family in entry.printed)
    every = [one for entry in known for one in entry.ids]

    assert {"contract": 39, "calendar": 7, "hidden-profile": 7} == of_paper
    assert len({(entry.name, entry.kind) for entry in known}) == len(known)
    assert 25 == sum(entry.id is not None and "contract" in entry.printed for entry in known)
    assert len(set(every)) == len(every)
    assert len(set(ids)) == len(ids)
    assert {"397B/17B", "27B", "4B (eff.)", None} <= {entry.size for entry in known}


@pytest.mark.property
def test_prices_come_from_where_the_list_says() -> None:
    """LiteLLM's own table has a price for exactly the ids that are listed with one."""
    priced = library().model_cost
    listed = {entry.id: entry.price for entry in known_models() if entry.id}
    found = {name: "litellm" if {name, name.partition("/")[2]} & set(priced) else "none" for name in listed}

    assert found == listed
