"""Contents of the containers of our tasks: the default Dockerfile if the folder has none, and the start of the hidden tests.

For Harbor, docker_image in task.toml specifies the same for `main`, and docker-compose.yaml for the world.
"""

from __future__ import annotations

import re

from harness.registry import Task, contents_of

MAIN_IMAGE = "parley/agent:1"


def plain_recipe(task: Task, room: str) -> str | None:
    """Return the text of the default Dockerfile; None if the folder must have its own."""
    if room == "agent" and task.file.environment.docker_image == MAIN_IMAGE:
        return f"FROM {MAIN_IMAGE}\n"
    return "FROM parley/world:1\nCOPY . /srv/world/\n" if room == "world" else None


PLAIN_TESTS = re.compile(
    rb"""#!/bin/bash
(?:#[^\n]*\n)*rm -f /logs/verifier/reward\.json /logs/verifier/reward\.txt
why=\$\(python3 -c 'import os, validators; os\.stat\(validators\.__path__\[0\] \+ "/plugin\.py"\)' 2>&1\) \|\| \{
    echo "nothing is judged, this is not the verifier's image: \$\{why##\*\$'\\n'\}" >&2
    exit 2
\}
mkdir -p /logs/verifier
echo '\{"reward": 0\.0\}' > /logs/verifier/reward\.json
python3 -m pytest -q -p validators\.plugin -p no:cacheprovider /tests/test_outcome\.py
"""
)
"""Pattern of tests/test.sh as `harness sync` writes it; `validators.warm` does the same."""

PLAIN_VERIFIER = re.compile(rb"(?:#[^\n]*\n)*FROM parley/verifier:1\nCOPY \. /tests/\n")
"""Pattern of tests/Dockerfile as `harness sync` writes it."""


def runs_plain_tests(task: Task) -> bool:
    """Return True if a task's hidden tests are started by test.sh as `harness sync` writes it, and no setting changes that."""
    script = contents_of(task.path, "tests").get("test.sh")
    is_plain = script is not None and PLAIN_TESTS.fullmatch(script.data) is not None
    return is_plain and not task.file.verifier.env


def has_plain_verifier(task: Task) -> bool:
    """Return True if a task's verifier is its base image with the hidden tests and nothing else."""
    tests = contents_of(task.path, "tests")
    recipe = tests.get("Dockerfile")
    is_plain = recipe is not None and PLAIN_VERIFIER.fullmatch(recipe.data) is not None and ".dockerignore" not in tests
    return is_plain and runs_plain_tests(task)
