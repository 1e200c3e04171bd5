"""Texts in the place of a family's own: who is sent them, what is refused by name, what is written down, in every runtime."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.agent import AgentSpec, SeatSpec
from harness.errors import UsageError
from harness.paths import ROOT
from harness.records import RunFolder
from harness.registry import Task, read_task
from parley.commands.export import templates_command
from parley.reports.evidence import gather, read_runs
from parley.requests.texts import check_templates, read_templates, with_texts
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Messages, Script
from worlds.core.errors import ManifestError, WorldError
from worlds.core.loading import open_world
from worlds.core.seated import SeatedWorld
from worlds.core.texts import MAX_BYTES, Texts, check_texts, placeholders, read_own_texts, texts_digest

GROUP, GAME = "hidden-profile/ferry-street-plate", "calendar/uniform-31"
Command = Callable[..., subprocess.CompletedProcess[str]]
MODEL = AgentSpec(kind="llm", model="openai/any")


def task_of(name: str) -> Task:
    """One of our tasks by family and id."""
    return read_task(ROOT / "tasks" / name)


def folder_of(path: Path, **texts: str) -> Path:
    """A folder with these texts; names go without their suffix."""
    path.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (path / f"{name}.md.j2").write_text(text, encoding="utf-8")
    return path


def agreeing(messages: Messages) -> str:
    """Names the first option that it was shown, and says nothing of its own."""
    asked = str(messages[-1]["content"])
    shown = re.search(r"^\* (\w+)$", asked, re.MULTILINE)
    return json.dumps({"vote": shown[1], "rationale": ""}) if shown else "Go on."


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """A model that agrees with everything, in whatever words it is asked."""
    with OpenAIServer(Script(play=agreeing)) as running:
        yield running


OTHERS = {
    "system": "SYSTEM {{ person }}/{{ people }}\n{{ brief }}\n{{ facts | join(' ') }}",
    "turn": "TURN {{ number }}\n{% for speaker, text in said %}<{{ speaker }}> {{ text }}\n{% endfor %}Go.",
    "_ballot": "BALLOT\n{% for id, label in options %}\n* {{ id }}\n{% endfor %}",
}


@pytest.fixture(params=["inprocess", pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
                        pytest.param("docker", marks=pytest.mark.docker)])  # fmt: skip
def runtime(request: pytest.FixtureRequest) -> str:
    """Every runtime."""
    return str(request.param)


def test_seats_are_sent_the_words_of_the_folder(harness: Command, tmp_path: Path, server: OpenAIServer, runtime: str) -> None:
    """In every runtime: what stands in the folder is sent, what does not is ours; plan and result have the digest."""
    folder, out = folder_of(tmp_path / "texts", **OTHERS), tmp_path / "run"
    run = (
        "run",
        GROUP.partition("/")[2],
        "--model",
        "openai/any",
        "--api-base",
        server.url,
        "--runtime",
        runtime,
        "--out",
        out,
    )
    done = harness(*run, "--templates", folder, "--set", "rounds=2", env={"OPENAI_API_KEY": "k"})

    assert done.returncode == 0, done.stderr
    conversations = [request.messages for request in server.requests]
    asked = [str(messages[-1]["content"]) for messages in conversations]
    people = len({str(messages[0]["content"]) for messages in conversations})
    assert all(re.match(rf"SYSTEM \d/{people}\n", str(messages[0]["content"])) for messages in conversations)
    assert asked[0].startswith("Vote now, before anybody has spoken.\nBALLOT\n* ")
    assert asked[people] == "TURN 1\nGo."
    assert asked[people + 1] == "TURN 1\n<1> Go on.\nGo."
    assert asked[-1].endswith(asked[0].partition("\n")[2])
    (result,) = RunFolder(out).results()
    digest = texts_digest(read_templates(folder))
    plan = json.loads((out / "run.json").read_bytes())
    assert (result.status, result.templates) == ("graded", digest)
    assert result.failure_label != "INVALID_VOTE"
    assert (plan["identity"]["templates"], plan["request"]["templates"]) == (digest, read_templates(folder))


@pytest.mark.property
def test_other_words_are_another_row(harness: Command, tmp_path: Path, server: OpenAIServer) -> None:
    """Two runs that differ in a word of a text share no row, and each says which texts it had."""
    run = ("run", GROUP.partition("/")[2], "--model", "openai/any", "--api-base", server.url, "--runtime", "inprocess")
    for name, word in (("one", "Go."), ("two", "Speak.")):
        folder = folder_of(tmp_path / name, turn=word)
        done = harness(
            *run, "--set", "rounds=1", "--templates", folder, "--out", tmp_path / "runs" / name, env={"OPENAI_API_KEY": "k"}
        )
        assert done.returncode == 0, done.stderr
    evidence = gather(read_runs([tmp_path / "runs"]), "hidden-profile", [task_of(GROUP)])
    digests = [texts_digest({"turn.md.j2": word}) for word in ("Go.", "Speak.")]

    assert [len(group.graded) for group in evidence.groups] == [1, 1]
    assert {digest[:8] for digest in digests} == {re.findall(r"templates (\w{8})", group.name)[0] for group in evidence.groups}


@pytest.mark.property
def test_resuming_needs_no_folder_and_takes_no_other(harness: Command, tmp_path: Path, server: OpenAIServer) -> None:
    """A run goes on with the texts in its run.json; another folder makes another run."""
    folder, out = folder_of(tmp_path / "texts", turn="Go."), tmp_path / "run"
    key = {"OPENAI_API_KEY": "k"}
    run = ("run", GROUP.partition("/")[2], "--model", "openai/any", "--api-base", server.url, "--runtime", "inprocess")
    begun = harness(*run, "--set", "rounds=1", "--templates", folder, "--out", out, env=key)
    (episode,) = out.glob("episodes/*/*/s0-a1")
    before = (episode / "events.jsonl").read_bytes()
    (episode / "result.json").unlink()
    (folder / "turn.md.j2").write_text("Speak.", encoding="utf-8")
    other = harness("run", "--resume", out, "--templates", folder, "--api-base", server.url, env=key)
    again = harness("run", "--resume", out, "--api-base", server.url, env=key)

    assert (begun.returncode, other.returncode, again.returncode) == (0, 2, 0), again.stderr
    assert "was planned with other templates" in other.stderr
    assert (episode / "events.jsonl").read_bytes() == before


def test_calendar_is_told_in_other_words(tmp_path: Path) -> None:
    """Every text of a game can be another; the world renders it with what the seat may see."""
    words = {
        "round_start.md.j2": "R{{ round }}: M{{ meeting }} of {{ participants | join('+') }}",
        "system.md.j2": "You: {{ seat }}",
    }
    world = open_world(task_of(GAME).world_folder, texts=words)

    assert isinstance(world, SeatedWorld)
    assert list(world.seats) == [f"You: {seat}" for seat in range(5)]
    assert re.fullmatch(r"R1: M\d+ of [\d+]+", world.turns.open[0].text)


@pytest.mark.parametrize("family", with_texts())
def test_own_texts_say_the_same_as_a_folder(family: str, tmp_path: Path) -> None:
    """An exported folder, unchanged, passes every check and is as long as the family's list of texts."""
    templates_command(family, tmp_path / "texts")
    texts = read_templates(tmp_path / "texts")

    check_texts(family, texts)
    assert texts == read_own_texts(family)
    assert set(texts) == set(placeholders(family) or ())
    with pytest.raises(UsageError, match="is not empty, and existing files are never overwritten"):
        templates_command(family, tmp_path / "texts")


@pytest.mark.parametrize("family", with_texts())
def test_docs_tell_every_placeholder(family: str) -> None:
    """docs/prompts.md has a row for each placeholder of each family."""
    told = (ROOT / "docs" / "prompts.md").read_text(encoding="utf-8").partition(f"## {family}\n")[2].partition("\n## ")[0]
    rows = set(re.findall(r"^\| `(\w+)` \| (.+) \|$", told, re.MULTILINE))

    assert rows == {(name, held.doc) for may in (placeholders(family) or {}).values() for name, held in may.items()}


BOMBS = {
    "{{ 'x' * 10**10 }}": "line 1: a text holds placeholders, if and for alone, and not Mul",
    "{{ '%9999999999d' % rounds }}": "line 1: a text holds placeholders, if and for alone, and not Mod",
    "{{ said ~ said }}": "line 1: a text holds placeholders, if and for alone, and not Concat",
    "{% set said = [said, said] %}": "line 1: a text holds placeholders, if and for alone, and not Assign",
    "{{ heard.upper() }}": "line 1: a text holds placeholders, if and for alone, and not Call",
    "{% for a in range(90000) %}{% for b in a %}{% endfor %}{% endfor %}": "line 1: for goes through a list that is given",
    "{% for a in (said | first) %}{% endfor %}": "line 1: for goes through a list that is given",
    "{% for a in said %}{% for b in said %}{% endfor %}{% endfor %}": "a for stands within another (limit nested_loops)",
    "{{ heard | center(10000000000) }}": "line 1: a placeholder may pass through one of",
    "{{ heard | join(heard) }}": "line 1: a placeholder may pass through",
    "{{ heard | join('" + "x" * 30 + "') }}": "line 1: a separator has at most 20 characters",
    "{{ heard | join('1234567890') | join('1234567890') }}": "line 1: a placeholder may pass through",
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}": "it cannot be read: ",
    "{{ " + "9" * 5000 + " }}": "it cannot be read: ",
}
"""What would spend time or memory without bound."""


@pytest.mark.parametrize("family", with_texts())
def test_included_texts_are_bounded_together(family: str) -> None:
    """Files that each include the next many times are refused by what they are together, and nothing is put in its place."""
    names = sorted(placeholders(family) or ())
    texts = {name: f"{{% include '{after}' %}}" * 40 for name, after in itertools.pairwise(names)} | {names[-1]: "x"}

    with pytest.raises(ManifestError, match=r"with all that it includes it is longer than 400000 characters"):
        check_texts(family, texts)


def test_rendered_texts_are_bounded() -> None:
    """A short text that goes through a long list is refused where it becomes too long, and does not fill the memory."""
    texts = Texts({"t.md.j2": "{% for one in names %}{{ long }}{% endfor %}"})

    with pytest.raises(WorldError, match=r"longer than 4000000 characters \(limit rendered_text\)"):
        texts.render("t", names=range(10**9), long="x" * 1000)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("rules", "x", "rules.md.j2 is no text of the family hidden-profile; it has instruction.md.j2, system.md.j2"),
        ("system", "{{ key }}", "system.md.j2: there is no placeholder 'key'; there are board, brief, "),
        ("turn", "{{ brief }}", "turn.md.j2: there is no placeholder 'brief'"),
        ("turn", "a\n{% for", "turn.md.j2: line 2: unexpected"),
        ("turn", "{{ settings.rounds }}", "turn.md.j2: there is no placeholder 'settings'"),
        ("turn", "{{ said.__class__ }}", "turn.md.j2: line 1: placeholders have no parts, so .__class__ names nothing"),
        ("turn", "{{ said | attr('__class__') }}", "turn.md.j2: line 1: a placeholder may pass through one of"),
        ("turn", "{{ said['__class__'] }}", "turn.md.j2 cannot be rendered: "),
        ("turn", "{{ rounds - 'x' }}", "turn.md.j2 cannot be rendered: unsupported operand"),
        *[("turn", text, f"turn.md.j2: {why}") for text, why in BOMBS.items()],
        ("turn", "{% for one, two, three in said %}{% endfor %}", "turn.md.j2 cannot be rendered: not enough values"),
        ("turn", "{% include 'turn.md.j2' %}", "turn.md.j2: it includes itself: turn.md.j2 -> turn.md.j2"),
        ("turn", "{% include '/etc/passwd' %}", "turn.md.j2: it includes /etc/passwd, which is no text of this family"),
        ("_ballot", "{{ person }}", "_ballot.md.j2: there is no placeholder 'person'"),
        ("turn", "x" * MAX_BYTES, f"more than {MAX_BYTES} bytes"),
    ],
)  # fmt: skip
def test_what_cannot_stand_in_a_texts_place_is_named(name: str, text: str, said: str) -> None:
    """Files, placeholders and words that cannot be rendered are refused with the file's name before anything starts."""
    with pytest.raises(ManifestError) as refused:
        check_texts("hidden-profile", {f"{name}.md.j2": text})

    assert said in str(refused.value)


def test_a_world_refuses_what_the_harness_would(tmp_path: Path) -> None:
    """Also where texts come to it by another way: nothing unknown is rendered in its process."""
    with pytest.raises(ManifestError, match="there is no placeholder 'key'"):
        open_world(task_of(GROUP).world_folder, texts={"system.md.j2": "{{ key }}"})
    with pytest.raises(WorldError, match=r"t\.md\.j2 cannot be rendered: 'x' is undefined"):
        Texts({"t.md.j2": "{{ x }}"}).render("t")


@pytest.mark.parametrize(
    ("tasks", "agent", "said"),
    [
        ((GROUP, GAME), MODEL, "--templates holds the texts of one family, but these are tasks of calendar, hidden"),
        (("contract/presigned-url-download",), MODEL, "the family contract has no texts for seats; calendar, hidden-profile"),
        ((GROUP,), AgentSpec(), "oracle parses the family's own texts, so it cannot play with --templates"),
        ((GROUP,), AgentSpec(kind="seats", name="pool"), "pool parses the family's own texts"),
        ((GROUP,), MODEL.model_copy(update={"seats": (SeatSpec(seat=0, kind="policy", name="pool"),)}), "pool parses"),
    ],
)  # fmt: skip
def test_runs_that_texts_do_not_fit_are_refused(tasks: tuple[str, ...], agent: AgentSpec, said: str) -> None:
    """Tasks of two families, tasks without seats, and players that read our own words."""
    with pytest.raises(UsageError, match=re.escape(said)):
        check_templates({"turn.md.j2": "Go."}, [task_of(name) for name in tasks], agent)


def test_folders_that_hold_no_texts_are_refused(tmp_path: Path) -> None:
    """A folder that is not there, one that is empty, a link in it, and bytes that are no text."""
    with pytest.raises(UsageError, match="nowhere: No such file"):
        read_templates(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="contains no texts"):
        read_templates(folder_of(tmp_path / "empty"))
    (folder_of(tmp_path / "bytes") / "turn.md.j2").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"turn\.md\.j2 is not UTF-8"):
        read_templates(tmp_path / "bytes")
    (folder_of(tmp_path / "linked") / "turn.md.j2").symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match=r"turn\.md\.j2: is a link"):
        read_templates(tmp_path / "linked")
