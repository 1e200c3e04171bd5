"""From `harness run` to the tables: real clients in process, real run folders, and the command line that reads them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]
Line = tuple[str, ...]
TASKS = ("presigned-url-download", "webhook-hmac-verify")
"""What the registry of these tests holds."""

PLAYED: dict[str, Line] = {
    "oracle": ("--yes", "-k", "2"),
    "nop": ("--yes", "-k", "2", "--agent", "nop"),
    "late": ("presigned-url-download", "-k", "2", "--agent", "violation:listed_order"),
    "resorted": ("presigned-url-download", "-k", "2", "--agent", "violation:resorted_link"),
    "acked": ("webhook-hmac-verify", "-k", "2", "--agent", "violation:acked_twice"),
}
RUNS: list[Line] = [
    ("run", *words, "--runtime", "inprocess", "--trust", "--out", f"RUNS/{name}") for name, words in PLAYED.items()
]
RETRIES: list[Line] = [
    (
        "run",
        "--retry-of",
        "RUNS/nop",
        "--hint",
        hint,
        "--agent",
        agent,
        "--runtime",
        "inprocess",
        "--trust",
        "--out",
        f"AGAIN/{hint}",
    )
    for hint, agent in (("none", "nop"), ("wrong", "nop"), ("correct", "nop"))
]
REPORT: Line = ("report", "RUNS", "--no-published")
MARKDOWN: Line = ("report", "RUNS/nop", "--table", "labels", "--no-published", "--markdown")
AS_JSON: Line = (
    "report",
    "RUNS/oracle",
    "RUNS/nop",
    "--table",
    "leaderboard",
    "--table",
    "outliers",
    "--no-published",
    "--json",
)
COACHED: Line = ("report", "RUNS", "AGAIN", "--table", "coaching", "--no-published")
PUBLISHED: Line = ("report", "RUNS/oracle", "--published", "--json")
EXPORT: Line = ("export", "episodes", "RUNS/late", "RUNS/oracle")
EXPORT_TO: Line = ("export", "episodes", "RUNS/nop", "AGAIN", "--format", "contractbench", "--out", "AGAIN/records.jsonl")
MODELS: Line = ("models",)
MODELS_JSON: Line = ("models", "--json")
MISTAKES: dict[Line, str] = {
    ("report", "/nowhere"): "/nowhere holds no run.json\n  try: harness report runs/*, or the folder that harness run printed",
    ("report", "RUNS/nop", "--table", "coaching"): "the table coaching needs retries, which these runs do not have\n"
    "  try: harness run --retry-of RUN --hint correct, and --hint none, and --hint wrong",
    ("report", "RUNS/nop", "--json", "--markdown"): "--markdown and --json both mean stdout; choose one",
    ("report", "RUNS/nop", "--plot", "/dev/null/x.svg"): "/dev/null/x.svg cannot be written: File exists\n"
    "  try: the same command with another path",
    ("export", "traces", "RUNS/nop"):
        "harness export has no kind 'traces'; it has episodes, trace, templates, harbor, inspect, harbor-job, scout\n  try: harness export episodes --help",  # noqa: E501
    ("export", "episodes", "RUNS/nop", "--format", "csv"): "the family contract has no format 'csv'; it has contractbench",
    ("export", "episodes", "RUNS/nop", "--out", "/nowhere/x"): "/nowhere/x cannot be written: No such file or directory",
}  # fmt: skip
SAID = """
Leaderboard, contract
Model	Eps	Pass	SR %	95 %	k	pass^k	Severity	Ungraded	Status
oracle	4	4	100.0	15.8..100.0	2	1.00	+1.00	0	2 of 33 tasks
nop	4	0	0.0	0.0..84.2	2	0.00	-0.30	0	2 of 33 tasks
violation:acked_twice	2	0	0.0	0.0..84.2	2	0.00	-0.75	0	1 of 33 tasks
violation:listed_order	2	0	0.0	0.0..84.2	2	0.00	-1.00	0	1 of 33 tasks
violation:resorted_link	2	0	0.0	0.0..84.2	2	0.00	-0.95	0	1 of 33 tasks
95 % intervals: Wilson at the effective sample size of attempts clustered by task, t with T - 1 degrees; \
Clopper-Pearson over the tasks, or over the attempts at a single one, where every attempt or none succeeded
2 tasks x 2 attempts cannot show a difference between two models

Pass rate by task, contract
Family	Task	violation:acked_twice	violation:listed_order	nop	oracle	violation:resorted_link
integrity	webhook-hmac-verify	0.00	-	0.00	1.00	-
integrity	mean of tasks played	0.00	-	0.00	1.00	-
integrity	tasks played	1	0	1	1	0
both	presigned-url-download	-	0.00	0.00	1.00	0.00
both	mean of tasks played	-	0.00	0.00	1.00	0.00
both	tasks played	0	1	1	1	1
all	mean of tasks played	0.00	0.00	0.00	1.00	0.00
all	tasks played	1	1	2	2	1
all	95 %	-	-	0.00..0.84	0.16..1.00	-
mean reward over the graded attempts at each task; means and intervals are over the tasks played; both = Hybrid

Catalogue of tasks, contract
Task	Difficulty	Quadrant	Contract pattern
presigned-url-download	hard	Q2	Timing/Backoff
webhook-hmac-verify	very_hard	Q3	Byte-exact
1 in Q2, 1 in Q3

Pass rate by quadrant and pattern, contract
By	Kind	Tasks	violation:acked_twice	violation:listed_order	nop	oracle	violation:resorted_link
quadrant	Q2	1	-	0.00	0.00	1.00	0.00
quadrant	Q3	1	0.00	-	0.00	1.00	-
pattern	Byte-exact	1	0.00	-	0.00	1.00	-
pattern	Timing/Backoff	1	-	0.00	0.00	1.00	0.00
all	all	2	0.00	0.00	0.00	1.00	0.00
mean over tasks of the mean reward over graded attempts, of the tasks played

Labels of failed episodes, contract
Axis	Label	Severity	violation:acked_twice	violation:listed_order	nop	oracle	violation:resorted_link
validity	EXPIRED_BEFORE_USE	-1.00	0 (0 %)	2 (100 %)	0 (0 %)	0 (0 %)	0 (0 %)
validity	VERSION_CONFLICT	-0.75	2 (100 %)	0 (0 %)	0 (0 %)	0 (0 %)	0 (0 %)
integrity	SIGNATURE_MISMATCH	-0.95	0 (0 %)	0 (0 %)	0 (0 %)	0 (0 %)	2 (100 %)
meta	OTHER	-0.30	0 (0 %)	0 (0 %)	4 (100 %)	0 (0 %)	0 (0 %)
counts and shares of failed episodes, by primary label

Failures by axis, contract
Model	Eps	Failed	Validity	Integrity	Other	Recov.	Severity score
violation:acked_twice	2	2	2 (100 %)	0 (0 %)	0 (0 %)	0	-0.75
violation:listed_order	2	2	2 (100 %)	0 (0 %)	0 (0 %)	0	-1.00
nop	4	4	0 (0 %)	0 (0 %)	4 (100 %)	0	-0.30
oracle	4	0	0 (0 %)	0 (0 %)	0 (0 %)	0	+1.00
violation:resorted_link	2	2	0 (0 %)	2 (100 %)	0 (0 %)	0	-0.95
severity score: mean signed severity of the primary label over graded episodes, +1 for a success

Deterministic cells, contract
Model	Cells	Deterministic	%	Same trace	Source
violation:acked_twice	1	1	100.0	1	ours
violation:listed_order	1	1	100.0	1	ours
nop	2	2	100.0	2	ours
oracle	2	2	100.0	2	ours
violation:resorted_link	1	1	100.0	1	ours
all	7	7	100.0	7	ours
a cell is deterministic when all its graded attempts (two or more) have the same label

Tasks out of line, contract
Task	Finding	Models	rho	Source
rank correlations over 5 models, on the tasks that all of them have: 0
"""
MD = """\
### Labels of failed episodes, contract

| Axis | Label | Severity | nop |
|---|---|---|---|
| meta | OTHER | -0.30 | 4 (100 %) |

- counts and shares of failed episodes, by primary label

### Failures by axis, contract

| Model | Eps | Failed | Validity | Integrity | Other | Recov. | Severity score |
|---|---|---|---|---|---|---|---|
| nop | 4 | 4 | 0 (0 %) | 0 (0 %) | 4 (100 %) | 0 | -0.30 |

- severity score: mean signed severity of the primary label over graded episodes, +1 for a success
"""
COACHING = """
Retries by what they were told, contract
Model	Retry condition	Pass	of	Pass %	Diff. to none, pp	Pairs	Gained	Lost	p	Ungraded	Source
nop	no hint	0	4	0.0	-	-	-	-	-	0	ours
nop	wrong label	0	4	0.0	+0.0	4	0	0	1.000	0	ours
nop	correct label	0	4	0.0	+0.0	4	0	0	1.000	0	ours
nop	correct - wrong	-	-	-	+0.0	4	0	0	1.000	-	ours
  differences and p (McNemar, exact, two-sided) are over the failures retried under both conditions

Retries by first label, contract
Model	First label	n	No hint	Correct label	Wrong label	Correct - wrong	Source
nop	OTHER	4	0	0	0	0	ours
nop	total	4	0	0	0	0	ours
  passed retries by the label of the first attempt; labels seen once are other
"""
KEYS = [
    "task_id", "category", "seed", "agent", "success", "failure_label", "failure_detail", "steps", "tool_calls",
    "virtual_time_elapsed", "trace_hash",
]  # fmt: skip
"""The keys of Appendix G, in its order."""


class Said(NamedTuple):
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def said(root: Path, harness: Command, tmp_path_factory: pytest.TempPathFactory) -> dict[Line, Said]:
    """Every command line of this module, against a registry of two tasks; folders stand as RUNS and AGAIN."""
    base = tmp_path_factory.mktemp("reporting")
    for task in TASKS:
        shutil.copytree(root / "tasks" / "contract" / task, base / "tasks" / "contract" / task)
    folders = {"RUNS": str(base / "runs"), "AGAIN": str(base / "again")}
    lines = [*RUNS, *RETRIES, REPORT, MARKDOWN, AS_JSON, COACHED, PUBLISHED, EXPORT, EXPORT_TO, MODELS, MODELS_JSON, *MISTAKES]
    typed = [[re.sub("RUNS|AGAIN", lambda name: folders[name[0]], word) for word in line] for line in lines]
    done = [harness("--tasks", base / "tasks", *words) for words in typed]
    told = [Said(one.returncode, one.stdout, one.stderr) for one in done]
    records = (base / "again" / "records.jsonl").read_text(encoding="utf-8")
    for name, folder in folders.items():
        told = [Said(one.code, one.out.replace(folder, name), one.err.replace(folder, name)) for one in told]
    return {**dict(zip(lines, told, strict=True)), ("records",): Said(0, records, "")}


def plain(text: str) -> list[str]:
    """Lines of tables with one tab between cells, wherever they stand."""
    return [re.sub(r" {2,}|\t", "\t", line.strip()) for line in text.splitlines()]


def test_every_run_ran(said: dict[Line, Said]) -> None:
    """What the tables are made from was really played."""
    assert [0] * len(RUNS + RETRIES) == [said[line].code for line in (*RUNS, *RETRIES)]


def test_the_tables_of_known_clients(said: dict[Line, Said]) -> None:
    """The oracle, the idle agent and three violations give exactly the tables that follow from what they are."""
    done = said[REPORT]

    *tables, empty, acked, late, nop, oracle, resorted, every = plain(done.out)

    assert plain(SAID) == tables
    assert "" == empty
    assert [
        "violation:acked_twice: 2 episodes", "violation:listed_order: 2 episodes", "nop: 4 episodes", "oracle: 4 episodes",
        "violation:resorted_link: 2 episodes", "all: 14 episodes",
    ] == [line.partition(",")[0] for line in (acked, late, nop, oracle, resorted, every)]  # fmt: skip
    assert (0, "") == (done.code, done.err)


def test_markdown(said: dict[Line, Said]) -> None:
    """Markdown is a document on stdout: heading, pipe table, notes as a list."""
    assert MD == said[MARKDOWN].out
    assert "" == said[MARKDOWN].err


def test_json(said: dict[Line, Said]) -> None:
    """Programs get exact values on stdout, also of columns that people are not shown."""
    told = json.loads(said[AS_JSON].out)
    board, outliers = told["tables"]
    oracle, nop = board["rows"]

    assert (["RUNS/oracle", "RUNS/nop"], "leaderboard", "outliers") == (told["runs"], board["name"], outliers["name"])
    assert (None, 1.0, 1.0, False, "ours") == tuple(oracle[key] for key in ("rank", "rate", "pass_k", "complete", "source"))
    assert [0.0, pytest.approx(1 - 0.025**0.5)] == nop["interval"]
    assert {"presigned-url-download", "webhook-hmac-verify"} & {row["task"] for row in outliers["rows"]} == set()


def test_json_with_published(said: dict[Line, Said]) -> None:
    """Published rows of every model come where they are asked for, and say what they are."""
    tables = {table["name"]: table for table in json.loads(said[PUBLISHED].out)["tables"]}
    sources = [row["source"] for row in tables["leaderboard"]["rows"]]

    assert (1, 39) == (sources.count("ours"), sources.count("published"))
    assert {"tasks-published", "variance", "outliers"} <= set(tables)


def test_retries_through_the_command_line(said: dict[Line, Said]) -> None:
    """The idle agent is as idle whatever it is told: 4 pairs a condition, no difference, p = 1."""
    assert plain(COACHING) == plain(said[COACHED].out)


def test_export(said: dict[Line, Said]) -> None:
    """Appendix G's eleven keys in the paper's order, one line an episode, run by run."""
    records = [json.loads(line) for line in said[EXPORT].out.splitlines()]
    late = records[0]

    assert [KEYS] * 6 == [list(record) for record in records]
    assert ("presigned-url-download", "both", 0, "violation:listed_order", False, "EXPIRED_BEFORE_USE", 0) == tuple(
        late[key] for key in ("task_id", "category", "seed", "agent", "success", "failure_label", "tool_calls")
    )
    assert {"resource_id", "ttl_seconds", "time_of_attempt", "expired_by_seconds"} == set(late["failure_detail"])
    assert [("oracle", True, "SUCCESS", {})] * 4 == [
        (one["agent"], one["success"], one["failure_label"], one["failure_detail"]) for one in records[2:]
    ]
    assert "6 episodes exported\n" == said[EXPORT].err


def test_export_to_a_file(said: dict[Line, Said]) -> None:
    """A file gets the same lines and nothing else; retries are left out and counted."""
    assert ("", "4 episodes exported to AGAIN/records.jsonl; left out: 12 retries\n") == said[EXPORT_TO][1:]
    assert ["nop"] * 4 == [json.loads(line)["agent"] for line in said["records",].out.splitlines()]


def test_models(said: dict[Line, Said]) -> None:
    """A listing for people and the same for programs."""
    listed = json.loads(said[MODELS_JSON].out)

    assert "Qwen3.5-397B-A17B (MoE)\thuggingface/Qwen/Qwen3.5-397B-A17B\tHugging Face\tQwen 3.5\tinstruct\t397B/17B\tnone" in (
        plain(said[MODELS].out)
    )
    assert ("Claude Opus 4.6", "anthropic/claude-opus-4-6", None) == tuple(listed[0][key] for key in ("name", "id", "size"))


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_mistake(said: dict[Line, Said], words: Line) -> None:
    """A mistake is exit 2, nothing on stdout, and exactly these words."""
    assert Said(2, "", f"harness: {MISTAKES[words]}\n") == said[words]


@pytest.mark.property
def test_on_a_narrow_terminal_nothing_is_cut(harness: Command, record: Callable[..., Path]) -> None:
    """A drawn table folds what is too wide, and brackets in names are no markup."""
    runs = [record(name, {("a", 0): "SUCCESS"}, model=name) for name in ("gpt-5", "openai/gpt-5")]
    done = harness("report", *runs, "--table", "tasks", "--no-published", env={"FORCE_COLOR": "1", "COLUMNS": "70"})
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)

    assert (0, "") == (done.returncode, done.stderr)
    assert "…" not in drawn
    assert {"[gpt-5,", "[openai/gpt-5,"} <= set(drawn.split())
