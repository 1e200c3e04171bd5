"""A file of settings mirrors the flags of `harness run`, and says nothing that must be typed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli
import typer

from harness.cli.config import NOT_SETTINGS, PRESETS, TYPED_ONLY, flags, print_config
from harness.cli.flags import RunFlags
from harness.cli.run import run_command
from harness.cli.settings import new_request
from harness.cli.signatures import takes_flags
from harness.errors import UsageError
from harness.registry import Task, select
from harness.runs.plan import plans
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import script
from tests.shipped import RELEASED
from worlds.core.chance import PUBLISHED_KEY

Command = Callable[..., subprocess.CompletedProcess[str]]
SETTINGS: dict[str, Any] = {
    "names": ["contract", "uniform-0?"], "model": "openai/any", "agent": "oracle", "interface": "tool",
    "protocol": "text", "seat": ["2=imap"], "seat-model": ["1=openai/b"], "rotate": True, "team": "imap,openai/c",
    "entrant": "dsm-private", "entrant-seat": 2, "variant": "redteam", "seat-variant": ["0=nosy-highpressure"],
    "api-base": "http://there/v1", "temperature": 0.5, "reply-tokens": 7,
    "context": 70, "timeout": 6.0, "patience": 4.0, "breaker": 3, "no-probe": True,
    "cache": "/a/cache", "record-wire": True,
    "script": "/a/b.json",
    "runtime": "inprocess", "k": 2, "seeds": "0-3", "key": "fresh", "until": "a-b", "alpha": 0.1,
    "set": ["a=1,2", 'b="é\\\n\x7f'], "control": ["a=3"], "no-control": True, "mutate": ["clip=200"], "handles": True,
    "mitigate": ["ttl"], "templates": "/a/texts",
    "retry-of": "/a/run", "hint": "correct", "workers": 3, "wall": 5.0, "turns": 8, "tokens": 9,
    "cost": 1.5, "max-cost": 2.5, "max-tokens": 10, "prices": "/a/prices.toml", "only": ["errored"], "shard": "2/4",
    "dry-run": True,
    "out": "/a/out", "resume": "/a/resume", "report": True, "yes": True, "json": True, "jsonl": "a.jsonl",
    "verbose": True,
}  # fmt: skip
"""Every key that a file may have, with a value that is not the default."""


def parsed(*words: str) -> tuple[RunFlags, str]:
    """What a command line means, and what --print-config would print."""
    said: list[tuple[RunFlags, str]] = []
    app = typer.Typer(add_completion=False)
    app.command()(takes_flags(RunFlags)(lambda ctx, flags: said.append((flags, print_config(ctx)))))
    typer.main.get_command(app).main(list(words), standalone_mode=False)
    return said[0]


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a file of settings."""

    def written(text: str) -> Path:
        path = tmp_path / "settings.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture(scope="module")
def registry() -> list[Task]:
    """All tasks of the release."""
    return [*RELEASED]


def every_key() -> dict[str, Any]:
    """The parameters of the real command by the keys of a file."""
    app = typer.Typer(add_completion=False)
    app.command()(run_command)
    context: Any = typer.main.get_command(app).make_context("run", [])
    return flags(context)


def test_every_flag_has_a_key_or_must_be_typed() -> None:
    """A new flag is a key of a file at once; what is none is named here and there."""
    assert set(every_key()) == {*SETTINGS, *TYPED_ONLY, *NOT_SETTINGS}


def written_by_hand(settings: dict[str, Any]) -> str:
    """TOML, whose strings here are JSON's but for one character."""
    return "".join(f"{key} = {json.dumps(value)}\n".replace("\x7f", "\\u007f") for key, value in settings.items())


def test_every_key_reaches_its_flag(file: Callable[[str], Path]) -> None:
    """A file that says everything is the command line that says everything, and is printed as itself."""
    words = [word for key, value in SETTINGS.items() if key != "names" for word in as_typed(key, value)]
    typed, _ = parsed(*SETTINGS["names"], *words)
    path = file(written_by_hand(SETTINGS))
    filed, printed = parsed("--config", str(path))
    differing = {name for name in vars(typed) if getattr(typed, name) != getattr(filed, name)}

    assert differing == {"typed", "filed", "config"}
    assert typed.typed == filed.filed == {parameter.name for key, parameter in every_key().items() if key in SETTINGS}
    assert tomli.loads(printed) == SETTINGS
    assert parsed("--config", str(file(printed)))[1] == printed


def as_typed(key: str, value: Any) -> Iterator[str]:
    """A setting as words."""
    for one in value if isinstance(value, list) else [value]:
        yield from [f"--{key}"] if one is True else [f"--{key}", str(one)]


def test_a_typed_flag_wins(file: Callable[[str], Path]) -> None:
    """What is typed stands, what is not comes from the file, the rest has its default."""
    path = file('names = ["calendar"]\nk = 4\nseeds = "1-2"\nset = ["a=1"]\n')
    said, _ = parsed("uniform-01", "--config", str(path), "--k", "2", "--set", "b=2")

    assert (said.names, said.k, said.seeds, said.options, said.wall) == (["uniform-01"], 2, "1-2", ["b=2"], None)
    assert (said.given("k", "seeds", "wall"), said.filed) == ({"k": 2, "seeds": "1-2"}, {"seeds"})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('seeds = "0"\nseed = "1"\n', ":2: seed is not a flag of this command; did you mean seeds?"),
        ("max_tokens = 3\n", ":1: max_tokens is not a flag of this command; did you mean max-tokens?"),
        ("zzz = 3\n", ":1: zzz is not a flag of this command"),
        ("trust = true\n", ":1: trust cannot come from a file: code to trust must be named on the command line each time"),
        (
            'env = ["HOME"]\n',
            ":1: env cannot come from a file: host variables to pass on must be named on the command line each time",
        ),
        ('config = "b.toml"\n', ":1: config cannot come from a file: it selects the file, or what is done with it"),
        ('api-key = "sk-1"\n', ":1: api-key looks like a credential, and those can come only from the environment"),
        (
            'OPENAI_API_KEY = "sk-1"\n',
            ":1: OPENAI_API_KEY looks like a credential, and those can come only from the environment",
        ),
        (
            'api-base = "http://me:pw@there/v1"\n',
            ":1: api-base contains a credential, and those can come only from the environment",
        ),
        ('temperature = "hot"\n', ":1: temperature must be a number or default, not 'hot'"),
        ('k = "2"\n', ":1: k must be a whole number, not '2'"),
        ("k = true\n", ":1: k must be a whole number, not True"),
        ("seeds = 1\n", ":1: seeds must be a text, not 1"),
        ('set = "a=1"\n', ":1: set must be a list of texts, not 'a=1'"),
        ("names = [1]\n", ":1: names must be a list of texts, not [1]"),
        ("yes = 1\n", ":1: yes must be true or false, not 1"),
        ("[set]\na = 1\n", ":1: set must be a list of texts, not {'a': 1}"),
        ("k = \n", " is not a settings file: Invalid value (at line 1, column 5)"),
    ],
)
def test_what_a_file_may_not_say(file: Callable[[str], Path], text: str, why: str) -> None:
    """One clause with the file, the line and the key; nothing runs."""
    path = file(text)
    with pytest.raises(UsageError) as refused:
        parsed("--config", str(path))

    assert f"{path}{why}" == str(refused.value)


def test_a_value_out_of_its_flags_range(file: Callable[[str], Path]) -> None:
    """Refused in the words of the command line's library, with file, line and key in front."""
    path = file("\nk = 0\n")
    with pytest.raises(UsageError, match=rf"^{path}:2: k: .*1"):
        parsed("--config", str(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Named, with what the system says."""
    with pytest.raises(UsageError, match=r"settings\.toml is not a settings file: No such file or directory"):
        parsed("--config", str(tmp_path / "settings.toml"))


@pytest.mark.parametrize("name", ["fifo", "device", "long"])
def test_file_that_is_no_plain_file_is_refused_at_once(harness: Command, tmp_path: Path, name: str) -> None:
    """A FIFO that nobody writes to, a device without an end and a file of a terabyte keep nobody waiting."""
    path = tmp_path / "settings.toml"
    if name == "fifo":
        os.mkfifo(path)
    elif name == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(1 << 40)
    said = harness("run", "presigned-url-download", "--config", path)

    assert said.returncode == 2
    assert re.search(
        r"settings\.toml is not a settings file: (is a (FIFO|device), not|is longer than .*limit settings)", said.stderr
    )


@pytest.mark.property
def test_presets_of_games_sample_as_their_providers_do(registry: list[Task]) -> None:
    """Papers of games name no temperature, so none is sent; contract's is 0, as its paper's."""
    for path in PRESETS.glob("*.toml"):
        preset, _ = parsed("--preset", path.stem, "--model", "openai/any")
        tasks = select(registry, preset.names or [])
        (spec,) = new_request(preset, tasks, None, PUBLISHED_KEY, lambda _: False).agents
        assert spec.temperature == (0.0 if path.stem.startswith("contract") else None), path.stem


def test_temperature_is_a_number_or_the_providers_own() -> None:
    """`default` sends none; anything else that is no number is refused."""
    assert [parsed("--temperature", text)[0].temperature for text in ("0.5", "0", "default")] == [0.5, 0.0, "default"]
    with pytest.raises(typer.BadParameter, match="hot"):
        parsed("--temperature", "hot")


def test_a_preset_is_found_by_name() -> None:
    """By the same settings as its file; an unknown name is told which there are, and two files are one too many."""
    by_name, by_path = parsed("--preset", "hidden-paper")[1], parsed("--config", str(PRESETS / "hidden-paper.toml"))[1]

    assert tomli.loads(by_name) == tomli.loads(by_path)
    with pytest.raises(UsageError, match="no preset named 'x'; presets: calendar-adversarial, "):
        parsed("--preset", "x")
    with pytest.raises(UsageError, match="choose one"):
        parsed("--preset", "hidden-paper", "--config", str(PRESETS / "hidden-paper.toml"))


def test_print_config_runs_nothing(harness: Command, tmp_path: Path) -> None:
    """The settings on stdout, and no folder; neither trust nor what of the host is handed out is among them."""
    done = harness(
        "run", "presigned-url-download", "--k", "2", "--trust", "--env", "HOME", "--api-base", "http://me:pw@there/v1",
        "--out", tmp_path / "run", "--print-config",
    )  # fmt: skip
    said = tomli.loads(done.stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert (said["names"], said["k"], said["api-base"]) == (["presigned-url-download"], 2, "http://there/v1")
    assert not {"trust", "env"} & set(said)
    assert not (tmp_path / "run").exists()


@pytest.mark.property
@pytest.mark.parametrize("words", [("calendar", "--agent", "imap"), ("contract", "--k", "2", "--set", "level=1..2")])
def test_what_was_printed_is_taken(harness: Command, file: Callable[[str], Path], words: tuple[str, ...]) -> None:
    """The file of a command plans what the command plans, with the defaults that it spells out."""
    path = file(harness("run", *words, "--print-config").stdout)
    typed, filed = harness("run", *words, "--dry-run"), harness("run", "--config", path, "--dry-run")

    assert (filed.returncode, filed.stdout) == (0, typed.stdout), filed.stderr


@pytest.mark.property
def test_an_address_of_a_file_gets_no_key(harness: Command, file: Callable[[str], Path], tmp_path: Path) -> None:
    """What a file of settings names is asked about, as what a run.json names is; who types it has seen it."""
    with OpenAIServer(script("I give up.")) as server:
        path = file(
            f'names = ["presigned-url-download"]\nmodel = "openai/any"\ninterface = "tool"\napi-base = "{server.url}"\n'
        )
        run = ("run", "--config", path, "--runtime", "inprocess", "--out", tmp_path / "run")
        refused = harness(*run, env={"OPENAI_API_KEY": "sk-mine"})
        asked = len(server.requests)
        url = server.url
        typed = harness(*run, "--api-base", url, env={"OPENAI_API_KEY": "sk-mine"})

    assert (refused.returncode, asked) == (2, 0)
    assert f"{path} names {url}, and a file does not decide where an API key is sent" in refused.stderr
    assert (typed.returncode, len(server.requests)) == (0, 2), typed.stderr


PLAYED = """
import json, sys
from harness.cli import main
for words in json.load(sys.stdin):
    sys.argv = ["harness", *words]
    try:
        main()
    except SystemExit as done:
        if done.code:
            raise
"""
SIZE_ONE = (
    "--seeds",
    "0",
    "--k",
    "1",
    "--model",
    "openai/any",
    "--interface",
    "tool",
    "--runtime",
    "inprocess",
    "--no-control",
    "--json",
)


def small(path: Path) -> list[str]:
    """A preset at its smallest: its first task, one seed, one attempt, the first value of each sweep, one round of talk."""
    preset = tomli.loads(path.read_text(encoding="utf-8"))
    first = {"contract": "presigned-url-download", "uniform-[0-9][0-9]": "uniform-01", "hidden-profile": "bakery-switch"}
    options = [f"{option.partition(',')[0]}" for option in preset.get("set", [])]
    options = ["rounds=1" if option.startswith("rounds=") else option for option in options]
    return [first.get(preset["names"][0], preset["names"][0]), *(word for option in options for word in ("--set", option))]


@pytest.mark.property
def test_every_preset_runs_at_size_one(root: Path, tmp_path: Path) -> None:
    """Each preset plays with a model, is graded, and keeps its settings in run.json."""
    with OpenAIServer(script(*["I agree with all of you."] * 500)) as server:
        lines = [
            [
                "run",
                *small(path),
                "--preset",
                path.stem,
                *SIZE_ONE,
                "--api-base",
                server.url,
                "--out",
                str(tmp_path / path.stem),
            ]
            for path in sorted(PRESETS.glob("*.toml"))
        ]
        done = subprocess.run(
            [sys.executable, "-c", PLAYED], input=json.dumps(lines), cwd=root, capture_output=True, text=True, check=False
        )

    assert done.returncode == 0, done.stderr
    for path in PRESETS.glob("*.toml"):
        preset, record = (
            tomli.loads(path.read_text(encoding="utf-8")),
            json.loads((tmp_path / path.stem / "run.json").read_bytes()),
        )
        (result,) = [json.loads(one.read_bytes()) for one in (tmp_path / path.stem).rglob("result.json")]
        assert (result["status"], result["model"]) == ("graded", "openai/any"), path
        assert record["request"]["budget"]["wall_s"] == preset.get("wall")


@pytest.mark.parametrize("path", sorted(PRESETS.glob("*.toml")), ids=lambda path: path.stem)
def test_presets_name_what_there_is(registry: list[Task], path: Path) -> None:
    """Every task, option and value of a preset exists, in every part of its sweep."""
    said, _ = parsed("--preset", path.stem, "--model", "openai/any", "--interface", "tool")
    tasks = select(registry, said.names or [])
    request = new_request(said, tasks, None, PUBLISHED_KEY, lambda what: False)

    for plan in plans(request, tasks, PUBLISHED_KEY, "run").values():
        assert [plan.options(task) for task in tasks]
