"""Tasks are found, not listed; a broken folder is `path:line: what`; names are forgiving, mistakes are not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import TaskInvalid, UnknownTask, UsageError
from harness.registry import FOREIGN, Task, discover, files_of, folder_digest, read_task, select, tasks_root

Add = Callable[..., Path]
BUDGETS = "metadata.parley.budgets"
WINDOW = "metadata.parley.knobs.window_seconds"


@pytest.fixture
def add(presigned: Task, tmp_path: Path) -> Add:
    """Adds a copy of a real task to the registry in tmp_path/tasks, renamed, with words of task.toml replaced."""

    def added(place: str, *changes: tuple[str, str]) -> Path:
        folder = tmp_path / "tasks" / place
        shutil.copytree(presigned.path, folder, ignore=shutil.ignore_patterns("__pycache__"))
        text = (folder / "task.toml").read_text(encoding="utf-8").replace("presigned-url-download", folder.name)
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (folder / "task.toml").write_text(text, encoding="utf-8")
        return folder

    return added


def line_of_text(folder: Path, text: str) -> int:
    """The line of task.toml that holds this text."""
    lines = (folder / "task.toml").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def refusal(folder: Path) -> str:
    """How the registry refuses a folder, its path left out."""
    with pytest.raises(TaskInvalid) as refused:
        read_task(folder)
    return str(refused.value).removeprefix(f"{folder}/task.toml:")


def test_discover_in_order(add: Add, tmp_path: Path) -> None:
    """Every folder with a task.toml is a task, by family folder and name."""
    for place in ("contract/b", "contract/a", "alpha/z"):
        add(place)

    assert ["z", "a", "b"] == [task.task_id for task in discover(tmp_path / "tasks")]


def test_discover_one_folder(add: Add) -> None:
    """The root may be a task itself."""
    assert ["a"] == [task.task_id for task in discover(add("contract/a"))]


def test_duplicate_ids(add: Add, tmp_path: Path) -> None:
    """An id is unique over all families."""
    first, second = add("alpha/a"), add("beta/a")
    with pytest.raises(TaskInvalid) as refused:
        discover(tmp_path / "tasks")

    assert f"{second}/task.toml:1: a is also the id of {first}" == str(refused.value)


def test_folder_without_a_task_file(add: Add, tmp_path: Path) -> None:
    """A folder with files but no task.toml is an error; an empty one and stray files are none."""
    add("contract/a")
    (tmp_path / "tasks" / "README.md").touch()
    (tmp_path / "tasks" / "contract" / "empty").mkdir()
    assert len(discover(tmp_path / "tasks")) == 1
    (tmp_path / "tasks" / "contract" / "gap").mkdir()
    (tmp_path / "tasks" / "contract" / "gap" / "instruction.md").touch()

    with pytest.raises(TaskInvalid, match=r"gap/task\.toml:1: cannot be read: "):
        discover(tmp_path / "tasks")


@pytest.mark.parametrize(
    ("old", "new", "where", "what"),
    [
        ("steps = 12", "stepz = 12", "stepz", f"{BUDGETS}.stepz: unknown key; stepz may be meant for steps"),
        ("steps = 12", "steps = 12\nstepz = 1", "stepz", f"{BUDGETS}.stepz: unknown key"),
        ("steps = 12", "steps = 0", "steps", f"{BUDGETS}.steps: Input should be greater than or equal to 1, not 0"),
        ("virtual_seconds = 200", "virtual_seconds = inf", "virtual_seconds",
         f"{BUDGETS}.virtual_seconds: Input should be a finite number, not inf"),
        ("request = 1", "request = -1", "request = -1",
         "metadata.parley.costs.request: Input should be greater than or equal to 0, not -1"),
        ("request = 1", "asking = 1", "[metadata.parley]", "metadata.parley: costs must name request"),
        ("min = 9", "mim = 9", "mim", f"{WINDOW}.mim: unknown key; mim may be meant for min"),
        ("default = 40", "default = 8", "default = 8", f"{WINDOW}: default 8 lies outside 9..90"),
        ("window_seconds = 18", "window_seconds = 8", "window_seconds = 8",
         "metadata.parley.levels.3.knobs.window_seconds: must be in 9..90, not 8.0"),
        ("window_seconds = 18", "window_second = 18", "window_second = 18",
         "metadata.parley.levels.3.knobs.window_second: unknown; the task has payload_bytes and window_seconds"),
        ("budgets = { steps = 10 }", "budgets = { step = 10 }", "step = 10",
         "metadata.parley.levels.3.budgets.step: unknown key"),
        ("parley.levels.4]", "parley.levels.5]", "parley.levels.2]",
         "metadata.parley.levels: must be numbered from 2 on without a gap, 9 at most, not 2, 3 and 5"),
        ('family = "contract"', "", "[metadata.parley]", "metadata.parley.family: Field required"),
        ('difficulty = "hard"', 'difficulty = "harder"', "difficulty",
         "metadata.parley.difficulty: Input should be 'easy', 'medium', 'hard', 'very_hard' or 'extreme', not 'harder'"),
        ("[agent]", "[agents]", "[agents]", "agents: unknown key"),
        ("[agent]", "[agents.more]", "[agents.more]", "agents: unknown key"),
        ("[verifier]", "[verifier]\nretries = 3", "retries", "verifier.retries: unknown key"),
        ("[metadata.parley.costs]", "[metadata.parley.prices]", "parley.prices]", "metadata.parley.prices: unknown key"),
        ('schema_version = "1.4"', 'schema_version = "9.9"', "schema_version",
         "schema_version: must be one of 1.0, 1.1, 1.2, 1.3, 1.4, the schemas of Harbor 0.25"),
    ],
)  # fmt: skip
def test_refused_with_its_line(add: Add, old: str, new: str, where: str, what: str) -> None:
    """An unknown key, a missing one or a bad value is named with the line it stands on."""
    folder = add("contract/a", (old, new))

    assert f"{line_of_text(folder, where)}: {what}" == refusal(folder)


def test_not_toml(add: Add) -> None:
    """A syntax error is named with TOML's own line."""
    folder = add("contract/a", ("steps = 12", "steps = = 12"))

    assert refusal(folder).startswith(f"{line_of_text(folder, 'steps = =')}: not TOML: Invalid value")


@pytest.mark.parametrize("metadata", ['metadata = "x"\n', "metadata = [1]\n"])
def test_metadata_that_is_no_table(add: Add, metadata: str) -> None:
    """Even a section of the wrong shape is a refusal, no crash."""
    folder = add("contract/a")
    (folder / "task.toml").write_text(f'schema_version = "1.4"\n{metadata}', encoding="utf-8")

    assert refusal(folder).startswith("2: metadata: Input should be a valid dictionary")


def test_multi_step_task(add: Add) -> None:
    """Harbor's multi-step tasks are refused by name."""
    folder = add("contract/a", ("[agent]", "[[steps]]\nname = 'x'\n[agent]"))

    assert f"{line_of_text(folder, '[[steps]]')}: multi-step tasks are not supported" == refusal(folder)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """A file that is no UTF-8 is refused."""
    (tmp_path / "task.toml").write_bytes(b"\xff")

    assert refusal(tmp_path) == "1: task.toml is not UTF-8 (byte 0)"


@pytest.mark.parametrize("name", ["instruction.md", "tests/test.sh", "environment"])
def test_missing_part(add: Add, name: str) -> None:
    """A folder that lacks a part Harbor needs is refused, with the command that writes it."""
    folder = add("contract/a")
    path = folder / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()

    assert f"1: the folder lacks {name}" == refusal(folder)


def test_name_and_folder_differ(add: Add) -> None:
    """The name in the file is the folder's."""
    assert refusal(add("contract/a", ("parley/a", "parley/b"))) == "1: task.name ends in 'b', but the folder is 'a'"


def test_foreign_task(add: Add) -> None:
    """Without our metadata a folder is a foreign Harbor task, whatever else its metadata holds."""
    folder = add("contract/a")
    (folder / "task.toml").write_text(
        'schema_version = "1.4"\n[metadata]\ndifficulty = "easy"\ntags = ["x"]\n', encoding="utf-8"
    )
    task = read_task(folder)

    assert (FOREIGN, None, None) == (task.family, task.parley, task.file.manifest())


@pytest.fixture
def three(add: Add, tmp_path: Path) -> list[Task]:
    """Three tasks of two families."""
    for place, family in (("contract/etag-get", "contract"), ("contract/etag-put", "contract"), ("social/vote", "social")):
        add(place, ('family = "contract"', f'family = "{family}"'))
    return discover(tmp_path / "tasks")


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ([], ["etag-get", "etag-put", "vote"]),
        (["vote", "etag-get"], ["etag-get", "vote"]),
        (["etag-*"], ["etag-get", "etag-put"]),
        (["*-[pg]?t"], ["etag-get", "etag-put"]),
        (["social"], ["vote"]),
        (["contract", "etag-put"], ["etag-get", "etag-put"]),
    ],
)
def test_select(three: list[Task], names: list[str], chosen: list[str]) -> None:
    """Ids, globs and families, in registry order, each task once."""
    assert chosen == [task.task_id for task in select(three, names)]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("etag-gte", "no task named 'etag-gte'; did you mean etag-get, etag-put?"),
        ("contrakt", "no task named 'contrakt'; did you mean contract?"),
        ("xyzzy*", "no task named 'xyzzy*'"),
        ("", "no task named ''"),
    ],
)
def test_unknown_name(three: list[Task], name: str, message: str) -> None:
    """A name that means nothing is refused with the nearest ones."""
    with pytest.raises(UnknownTask) as refused:
        select(three, [name])

    assert (message, "harness list") == (str(refused.value), refused.value.hint)


def test_select_by_path(three: list[Task], add: Add, tmp_path: Path) -> None:
    """A path is a task too, known or not, and named twice it is one."""
    outside = add("../elsewhere/mine")
    chosen = select(three, [str(outside), f"{three[0].path}/.", str(outside)])

    assert [three[0].path, outside.resolve()] == [task.path for task in chosen]


def test_path_with_a_known_id_is_not_swapped(three: list[Task], add: Add) -> None:
    """A copy elsewhere under a known id is the one that runs, and not beside the known one."""
    copy = add("../elsewhere/vote")

    assert [copy.resolve()] == [task.path for task in select(three, [str(copy)])]
    with pytest.raises(UsageError, match=r"^vote is named twice: "):
        select(three, ["vote", str(copy)])


def test_digest_covers_names_and_bytes(add: Add) -> None:
    """Any file's name or content changes a folder's digest; caches do not."""
    folder = add("contract/a")
    digests = [folder_digest(folder)]
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").touch()
    digests.append(folder_digest(folder))
    (folder / "instruction.md").write_text("other", encoding="utf-8")
    digests.append(folder_digest(folder))
    (folder / "instruction.md").rename(folder / "renamed.md")
    digests.append(folder_digest(folder))

    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_digest_has_no_seams(tmp_path: Path) -> None:
    """Bytes cannot move from a file's name to its content, or to the next file."""
    for name, content in (("a", b"bc"), ("ab", b"c")):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_bytes(content)

    assert folder_digest(tmp_path / "a") != folder_digest(tmp_path / "ab")


def test_files_in_order(tmp_path: Path) -> None:
    """A folder's files come sorted by path, folders and caches left out."""
    for name in ("b/x", "a", "b/__pycache__/y", "c/d/z"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    assert ["a", "b/x", "c/d/z"] == [path.relative_to(tmp_path).as_posix() for path in files_of(tmp_path)]


def test_tasks_root_must_be_there(tmp_path: Path) -> None:
    """A flag that names no folder is an error."""
    with pytest.raises(UsageError, match=r"/nowhere is not a folder of tasks$"):
        tasks_root(tmp_path / "nowhere")
