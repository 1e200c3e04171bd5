"""What a foreign folder may take from this host: nothing that was not named, and that never into a record."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import TaskInvalid, UsageError
from harness.registry import Task, read_task
from parley.interop.foreign.variables import fill, filled, grant, masked, masking, solution_environment

GIVEN = {"TOKEN": "s3cret-value", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a ${TOKEN} b $TOKEN", "a s3cret-value b s3cret-value"),
        ("${HOME:-none}", "none"),
        ("${HOME-none}", "none"),
        ("${EMPTY:-none}", "none"),
        ("${EMPTY-none}", ""),
        ("${EMPTY}", ""),
        ("${HOME:-}", ""),
        ("$$HOME $${HOME}", "$HOME ${HOME}"),
    ],
)
def test_a_text_of_a_compose_file_is_filled(text: str, value: str) -> None:
    """As Compose fills it, from what was granted alone: HOME is set here and is not seen."""
    assert value == fill(text, GIVEN, "place:1")


@pytest.mark.parametrize("text", ["${HOME:?no}", "${HOME:+x}", "${HOME:-${TOKEN}}", "costs 5 $", "${a b}", "$1"])
def test_what_is_not_understood_is_refused(text: str) -> None:
    """A form that would stay in the text as it is, or half of it, is an error."""
    with pytest.raises(TaskInvalid, match=r"^place:1: "):
        fill(text, GIVEN, "place:1")


@pytest.mark.parametrize("text", ["${PATH}", "$PATH", "x${PATH}y"])
def test_an_unnamed_variable_stops_the_run(text: str) -> None:
    """The variable, the file and the flag to type are named; that it is set here does not matter."""
    with pytest.raises(UsageError, match=r"^place:1: \$\{PATH\} is .* needs --env PATH$") as raised:
        fill(text, GIVEN, "place:1")

    assert raised.value.hint == "harness run ... --env PATH"


def test_variables_of_harbor_itself_are_named(add: Callable[[str], Task]) -> None:
    """A compose file written for Harbor's own variables is refused as such: granting them would make no sense."""
    with pytest.raises(TaskInvalid, match="is Harbor's own"):
        fill("${MAIN_IMAGE_NAME}", {}, "place:1")


@pytest.fixture
def add(tmp_path: Path) -> Callable[[str], Task]:
    """Makes a foreign task of a task.toml."""

    def made(toml: str) -> Task:
        folder = tmp_path / "foreign"
        (folder / "tests").mkdir(parents=True)
        (folder / "environment").mkdir()
        for name, text in {"task.toml": toml, "instruction.md": "x", "tests/test.sh": "true"}.items():
            (folder / name).write_text(text)
        return read_task(folder)

    return made


def test_tables_of_the_task_file(add: Callable[[str], Task], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole values are filled, all else is literal, and what is missing has the line of its key."""
    monkeypatch.setenv("FOREIGN_KEY", "from-here")
    task = add('[solution.env]\nA = "${FOREIGN_KEY}"\nB = "${NOWHERE:-b:-c}"\nC = "pre-${FOREIGN_KEY}"\n')
    with pytest.raises(UsageError, match=r"task\.toml:2: solution\.env\.A: \$\{FOREIGN_KEY\} is a variable of this host"):
        solution_environment(task)

    (granted,) = grant([task], ["FOREIGN_KEY"])
    expected = {"DEBIAN_FRONTEND": "noninteractive", "A": "from-here", "B": "b:-c", "C": "pre-${FOREIGN_KEY}"}
    assert expected == solution_environment(granted)
    assert "from-here" not in repr(granted)
    assert granted.digest == task.digest


def test_only_variables_that_are_set_can_be_granted(add: Callable[[str], Task], monkeypatch: pytest.MonkeyPatch) -> None:
    """A value on the command line would stand in every list of processes, and an unset name is a mistake."""
    task = add("")
    monkeypatch.delenv("FOREIGN_KEY", raising=False)
    assert grant([task], []) == [task]
    with pytest.raises(UsageError, match="the variable is not set"):
        grant([task], ["FOREIGN_KEY"])
    with pytest.raises(UsageError, match="takes only the name of a variable") as raised:
        grant([task], ["FOREIGN_KEY=hush"])

    assert "hush" not in str(raised.value)
    assert filled(task, {}, "environment", "env") == {}


def test_a_value_is_masked_however_it_arrives() -> None:
    """Whole, in pieces, at the end; the longer of two first; too short a value stays, because it stands everywhere."""
    given = {"LONG": "secret-and-more", "SHORT": "secret", "FLAG": "1"}
    text = b"1 secret 1 secret-and-more secre"
    pieces = iter([text[i : i + 3] for i in range(0, len(text), 3)])
    stream = masking(lambda: next(pieces, b""), given)
    expected = b"1 [SHORT] 1 [LONG] secre"

    assert expected == masked(text, given)
    assert expected == b"".join(iter(stream, b""))
    assert masking(lambda: b"x", {})() == b"x"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (
            (),
            "task.toml:2: environment.env.K: ${PARLEY_TEST_KEY} is a variable of this host, which needs --env",
        ),
        (("--env", "PARLEY_TEST_OTHER"), "--env PARLEY_TEST_OTHER: the variable is not set"),
        (("--env", "PARLEY_TEST_KEY=x"), "--env takes only the name of a variable"),
    ],
)
@pytest.mark.parametrize("command", ["run", "verify"])
def test_the_command_line_says_what_to_type(
    add: Callable[[str], Task],
    harness: Callable[..., subprocess.CompletedProcess[str]],
    command: str,
    flags: tuple[str, ...],
    words: str,
) -> None:
    """Before anything starts, with exit code 2, although the variable is set."""
    task = add('[environment]\nenv = { K = "${PARLEY_TEST_KEY}" }\n')
    done = harness(command, task.path, "--runtime", "docker", *flags, env={"PARLEY_TEST_KEY": "hush"})

    assert (done.returncode, "hush" in done.stderr) == (2, False)
    assert words in done.stderr
