"""Teams and prompt variants on the command line: what is typed, what a file says, and what a run.json keeps."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec
from harness.cli.config import PRESETS
from harness.cli.resuming import resumed_request
from harness.cli.settings import new_request
from harness.errors import UsageError
from harness.registry import Task
from harness.runs.plan import Plan
from harness.runs.request import RunRequest
from parley.requests.coaching import read_retry
from parley.sweeps.session import aliases
from tests.harness.cli.test_config import parsed
from tests.shipped import SHIPPED
from worlds.core.chance import PUBLISHED_KEY

Command = Callable[..., subprocess.CompletedProcess[str]]
TEAM = ("--team", "imap,sd-map,dsm-private,openai/a", "--entrant", "openai/b")
TASKS = [task for task in SHIPPED if task.task_id in {"uniform-01", "varied-01"}]


def asked(*words: str, tasks: list[Task] = TASKS) -> RunRequest:
    """The request that a command line makes; no person confirms anything."""
    return new_request(parsed(*words)[0], tasks, None, PUBLISHED_KEY, lambda _: False)


def agent(*words: str) -> AgentSpec:
    """Its one agent."""
    (spec,) = asked(*words).agents
    return spec


def test_a_team_is_a_line_up_for_every_task() -> None:
    """Policies by their names and models by all others, with how models are asked."""
    spec = agent(*TEAM, "--entrant-seat", "1", "--temperature", "0.5", "--api-base", "http://there/v1")
    assert spec.team is not None

    assert [one.kind for one in spec.team.members] == ["policy", "policy", "policy", "model", "model"]
    assert (spec.kind, spec.name, spec.temperature, spec.api_base) == ("seats", "team", 0.5, "http://there/v1")
    assert {line[1] for line in spec.team.lineups.values()} == {4}
    assert sorted(spec.team.lineups) == ["uniform-01", "varied-01"]


def test_a_team_of_one_name_is_that_name() -> None:
    """Its row is that of a table which one model or one policy holds alone."""
    alone, models = agent("--agent", "imap"), agent("--model", "openai/a")

    assert agent("--team", "imap,imap,imap,imap", "--entrant", "imap") == alone
    assert agent("--team", ",".join(["openai/a"] * 5)).model_copy(update={"interface": "shell"}) == models


@pytest.mark.parametrize("flag", ["--model=m", "--agent=imap", "--seat=0=imap", "--seat-model=0=m", "--rotate"])
def test_a_team_holds_every_seat(flag: str) -> None:
    """Whoever else is named for a seat, or for all, is refused by the flag."""
    with pytest.raises(UsageError, match=f"{flag.partition('=')[0]} cannot be combined with --team"):
        agent(*TEAM, flag)


def test_an_entrant_joins_a_team() -> None:
    """Alone it is refused, also beside a model."""
    for words in (("--entrant", "b"), ("--entrant-seat", "0"), ("--model", "m", "--entrant", "b")):
        with pytest.raises(UsageError, match=r"--entrant(-seat)? needs --team"):
            agent(*words)


def test_seats_are_counted_with_the_options() -> None:
    """A deck dealt to five has a team of five; in a sweep every size has to fit."""
    deck = [task for task in SHIPPED if task.task_id == "bakery-switch"]
    five = ("--team", "pool,silent,liar,a,b")

    assert asked(*five, "--set", "size=5", tasks=deck).agents[0].team
    with pytest.raises(UsageError, match="bakery-switch has 4 seats, but the team has 5 members"):
        asked(*five, "--set", "size=5,4", tasks=deck)


def test_presets_of_teams(tmp_path: Path) -> None:
    """The paper's four wait for an entrant; another team, or a model alone, takes their place."""
    preset = ("--preset", "calendar-canonical")
    ours = agent(*preset, "--team", "a,b,c,d", "--entrant", "e").team
    assert ours is not None

    assert [one.name for one in ours.members] == ["a", "b", "c", "d", "e"]
    assert agent(*preset, "--model", "m") == agent("--model", "m", "--temperature", "default")
    with pytest.raises(UsageError, match="uniform-01 has 5 seats, but the team has 4 members"):
        agent(*preset)
    with pytest.raises(UsageError, match="--seat cannot be combined with --team"):
        agent(*preset, "--entrant", "e", "--seat", "0=imap")
    cohort = agent(*preset, "--entrant", "openrouter/qwen/qwen3.6-plus").team
    assert cohort is not None
    assert (len({one.name for one in cohort.members}), {one.kind for one in cohort.members}) == (5, {"model"})
    both = tmp_path / "both.toml"
    both.write_text('model = "m"\nteam = "a,b,c,d,e"\n', encoding="utf-8")
    with pytest.raises(UsageError, match="--model cannot be combined with --team"):
        agent("--config", str(both))


def test_preset_of_one_probing_seat() -> None:
    """Seat 0 probes, the same model holds the others with our own words, six turns of talk and a hundred messages each."""
    request = asked("--preset", "calendar-adversarial", "--model", "openai/a")
    (spec,) = request.agents

    assert {seat: variant.name for seat, variant in spec.seat_variants.items()} == {0: "redteam"}
    assert (spec.variant, spec.team, spec.seats) == (None, None, ())
    assert (request.options["turn_cap"], request.options["message_cap"]) == (("6",), ("100",))
    assert (PRESETS / "calendar-adversarial.toml").read_text(encoding="utf-8").count("each seat's own messages") == 1


def test_variants_by_name_and_by_path(tmp_path: Path) -> None:
    """The text is taken whole; what is neither a name nor a file is refused with the names there are."""
    mine = tmp_path / "mine.md"
    mine.write_text("Be kind.\n", encoding="utf-8")
    spec = agent("--model", "m", "--variant", str(mine), "--seat-variant", "2=nosy-highpressure")
    assert spec.variant is not None

    assert (spec.variant.name, spec.variant.text) == ("mine", "Be kind.\n")
    assert spec.variant.ref.digest == hashlib.sha256(b"Be kind.\n").hexdigest()
    assert [getattr(spec.variant_at(seat), "name", None) for seat in (0, 2)] == ["mine", "nosy-highpressure"]
    for name, why in {
        "kind": "no variant or file named 'kind'; variants: nosy-highpressure, redteam",
        "0=redteam": "a seat's variant must look like",
    }.items():
        with pytest.raises(UsageError, match=why):
            agent("--model", "m", "--variant" if "=" not in name else "--seat-variant", name.removeprefix("0="))
    with pytest.raises(UsageError, match="seat 1 has two variants"):
        agent("--model", "m", "--seat-variant", "1=redteam", "--seat-variant", f"1={mine}")


@pytest.mark.parametrize(
    ("content", "why"), [(b" \n", "is empty"), (b"\xff", "it is not UTF-8"), (b"x" * 262_145, "is longer")]
)
def test_files_that_are_no_variant(tmp_path: Path, content: bytes, why: str) -> None:
    """Refused by their path."""
    path = tmp_path / "odd.md"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=rf"the variant .*odd\.md.* {why}"):
        agent("--model", "m", "--variant", str(path))


def test_a_shipped_variant_is_its_familys() -> None:
    """A hidden profile has no variant of that name, and a run of both families has none either."""
    deck = [task for task in SHIPPED if task.task_id == "bakery-switch"]
    with pytest.raises(UsageError, match="no variant or file named 'redteam'; variants: none of this family"):
        asked("--model", "m", "--variant", "redteam", tasks=deck)
    with pytest.raises(UsageError, match="the variant redteam does not belong to hidden-profile"):
        asked("--model", "m", "--variant", "redteam", tasks=[*TASKS, *deck])


def test_agents_without_seats_have_no_variant() -> None:
    """The oracle reads no prompt."""
    with pytest.raises(UsageError, match="oracle does not play seats, so --variant has no effect"):
        agent("--variant", "redteam")


def test_resuming_keeps_the_team_as_it_stands(tmp_path: Path) -> None:
    """Line-ups come from the file, also where today's arithmetic would make others; other members are refused."""
    first = asked(*TEAM)
    team = first.agents[0].team
    assert team is not None
    older = team.model_copy(update={"lineups": {task: line[::-1] for task, line in team.lineups.items()}})
    recorded = first.model_copy(update={"agents": (first.agents[0].model_copy(update={"team": older}),)})

    def resumed(*words: str) -> RunRequest:
        flags, _ = parsed("--resume", str(tmp_path), *words)
        return resumed_request(flags, recorded, TASKS, None, PUBLISHED_KEY, lambda _: True)

    assert resumed() == resumed(*TEAM) == resumed("--entrant", "openai/b") == recorded
    for words in (("--entrant", "openai/c"), ("--entrant-seat", "0"), ("--seat", "0=imap"), ("--seat-variant", "0=redteam")):
        with pytest.raises(UsageError, match="was planned with other agent"):
            resumed(*words)


def test_resuming_with_another_variant_is_refused(tmp_path: Path) -> None:
    """The file's text counts, not its name: a variant that was edited meanwhile makes another run."""
    mine = tmp_path / "mine.md"
    mine.write_text("Be kind.", encoding="utf-8")
    words = ("--model", "openai/a", "--seat-variant", f"0={mine}")
    recorded = asked(*words)

    def resumed() -> RunRequest:
        flags, _ = parsed("--resume", str(tmp_path), *words)
        return resumed_request(flags, recorded, TASKS, None, PUBLISHED_KEY, lambda _: True)

    assert resumed() == recorded
    mine.write_text("Be unkind.", encoding="utf-8")
    with pytest.raises(UsageError, match="was planned with other agent"):
        resumed()


@pytest.mark.property
def test_a_team_goes_on_where_it_was_killed(harness: Command, tmp_path: Path) -> None:
    """Episodes that were lost are played again by `--resume` with who sat there, by more workers, to the same traces."""
    team = ("--team", "imap,sd-map,dsm-private,silent", "--entrant", "truthful-planner")
    run = ("run", "uniform-01", "varied-01", *team, "--k", "3", "--runtime", "inprocess", "--out", tmp_path / "run")
    assert harness(*run).returncode == 0
    before = results(tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "episodes" / "calendar" / "varied-01")
    shutil.rmtree(tmp_path / "run" / "episodes" / "calendar" / "uniform-01" / "s0-a2")

    assert harness("run", "--resume", tmp_path / "run", "--workers", "8").returncode == 0
    assert results(tmp_path / "run") == before
    assert len({tuple(seats) for _, seats in before.values()}) > 3


def results(folder: Path) -> dict[str, tuple[str, list[str]]]:
    """Trace and seats of every result, by the place of its file."""
    read: dict[str, Any] = {
        str(path.relative_to(folder)): json.loads(path.read_bytes()) for path in folder.rglob("result.json")
    }
    return {place: (one["trace_hash"], [seat["name"] for seat in one["seats"]]) for place, one in read.items()}


@pytest.mark.property
def test_a_retry_keeps_the_line_up(harness: Command, tmp_path: Path) -> None:
    """What failed is played again by who sat there, though the tasks are fewer now."""
    team = ("--team", "imap,sd-map,dsm-private,silent", "--entrant", "truthful-planner")
    run = ("run", "uniform-0[12]", "varied-0[12]", *team, "--runtime", "inprocess")
    harness(*run, "--out", tmp_path / "first")
    first = read_retry(tmp_path / "first", "none")
    failed = [task for task in SHIPPED if task.task_id in {key.task_id for key in first.retry.hints}][1:]
    (spec,) = new_request(
        parsed("--retry-of", str(tmp_path / "first"))[0], failed, first, PUBLISHED_KEY, lambda _: False
    ).agents

    assert spec.team is not None
    assert {task.task_id for task in failed} < set(spec.team.lineups)
    assert Plan("r", failed, [0], 1, spec).identity().agent == first.record.identity.agent


def test_models_are_swept_as_agents_are() -> None:
    """`--model A,B` is two agents whose parts are named after them, a slash spelled out; a name may not stand twice."""
    request = asked("--model", "openai/one,two-2")

    assert [spec.model for spec in request.agents] == ["openai/one", "two-2"]
    assert [part.name for part in request.parts] == ["model=openai-one", "model=two-2"]
    assert aliases(request)["model=openai-one"] >= {"openai/one", "one", "openai-one"}
    with pytest.raises(UsageError, match="--model names one twice"):
        asked("--model", "one,one")
    mixed = asked("--agent", "llm,imap", "--model", "one,two")
    assert [part.name for part in mixed.parts] == ["model=one", "model=two", "agent=imap"]
