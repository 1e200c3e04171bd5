"""Flaws of verifiers that trust the machine they share with the agent, each with its mended twin.

They are changes of a task of their own, sound but for what is said: a number is to be written to a file, and a verifier that
runs where the agent ran compares it with one of its own. It locks and empties its folder before it looks at anything: in
this order, since somebody may still be writing there.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.parley.proof.attacks.flawed import BASE, Flaw

TOML = """
schema_version = "1.4"
[task]
name = "somebody/sound"
[agent]
timeout_sec = 60.0
user = "agent"
[verifier]
timeout_sec = 30.0
[environment]
memory_mb = 512
"""

LOCK = """#!/bin/bash
chmod 700 /logs/verifier; find /logs/verifier -mindepth 1 -delete
echo 0 > /logs/verifier/reward.txt
"""

COMPARE = """answer=/workspace/answer.txt
[ -f "$answer" ] && [ ! -L "$answer" ] && cmp -s "$answer" /tests/expected.txt && echo 1 > /logs/verifier/reward.txt
true
"""

SHARED: Mapping[str, str | None] = {
    "task.toml": TOML,
    "instruction.md": "Write six times seven to /workspace/answer.txt, as a number on a line of its own.\n",
    "environment/docker-compose.yaml": None,
    "environment/api/Dockerfile": None,
    "environment/api/server.py": None,
    "tests/Dockerfile": None,
    "tests/expected.txt": "42\n",
    "tests/test.sh": LOCK + COMPARE,
    "solution/solve.sh": "#!/bin/bash\necho 42 > /workspace/answer.txt\n",
}
"""A sound task whose verifier runs where the agent ran."""

PYTEST_MACHINE = """FROM parley/verifier:1
USER root
RUN useradd --user-group --no-create-home --home-dir /workspace agent && chown agent:agent /workspace
WORKDIR /workspace
"""

TEST_ANSWER = '''
from pathlib import Path


def test_a_line_was_written():
    """There is one line."""
    assert Path("/workspace/answer.txt").read_text().endswith("\\n")


def test_the_answer_is_right():
    """It is the number."""
    answer = Path("/workspace/answer.txt")
    assert answer.read_text() == "42\\n" and not answer.is_symlink()
'''

ALONE = "cd / && python3 -I -m pytest -q -p no:cacheprovider -c /dev/null --rootdir /tests --noconftest /tests/test_answer.py"
"""Pytest that loads nothing of the agent's."""


def _shared(name: str, attack: int, flawed: Mapping[str, str | None], mended: Mapping[str, str | None] | None = None) -> Flaw:
    return Flaw(name, attack, {**SHARED, **flawed}, {**SHARED, **(mended or {})})


PLANTED = _shared(
    "planted-report",
    1,
    {"tests/test.sh": """#!/bin/bash
echo 0 > /logs/verifier/reward.txt
# a report that is there already need not be made again
report=/logs/verifier/ctrf.json
if [ ! -s $report ]; then
    cmp -s /workspace/answer.txt /tests/expected.txt && failed=0 || failed=1
    echo "{\\"results\\": {\\"summary\\": {\\"failed\\": $failed}}}" > $report
fi
grep -q '"failed": 0' $report && echo 1 > /logs/verifier/reward.txt
true
"""},
)  # fmt: skip

LATE = _shared(
    "late-daemon",
    2,
    {"tests/test.sh": LOCK + "[ -x /workspace/notify.sh ] && /workspace/notify.sh\n" + COMPARE},
    {"tests/test.sh": LOCK + "[ -x /workspace/notify.sh ] && setpriv --reuid=agent --regid=agent --clear-groups "
     "/workspace/notify.sh\n" + COMPARE},
)  # fmt: skip

POLLED = f"""FROM {BASE}
USER root
COPY entrypoint.sh /srv/entrypoint.sh
RUN mkdir -p /workspace && chown agent:agent /workspace && chmod +x /srv/entrypoint.sh
WORKDIR /workspace
ENTRYPOINT ["/srv/entrypoint.sh"]
"""

POLLING = """#!/bin/bash
while /usr/bin/sleep 0.1; do [ -f /workspace/hooks/changed.sh ] && bash /workspace/hooks/changed.sh; done &
exec "$@"
"""

POLLED_HOOK = _shared(
    "polled-hook",
    2,
    {"environment/Dockerfile": POLLED, "environment/entrypoint.sh": POLLING},
    {
        "environment/Dockerfile": POLLED,
        "environment/entrypoint.sh": POLLING.replace("&& bash", "&& setpriv --reuid=agent --regid=agent --clear-groups bash"),
    },
)

TROJAN = _shared(
    "trojan-on-path", 3,
    {"environment/Dockerfile": f"FROM {BASE}\nUSER root\nRUN mkdir -p /workspace && chown agent:agent /workspace\n"
     "WORKDIR /workspace\nENV PATH=/workspace/bin:$PATH\n"},
)  # fmt: skip

CONFTEST = _shared(
    "conftest-in-the-workdir",
    4,
    {
        "environment/Dockerfile": PYTEST_MACHINE,
        "tests/test_answer.py": TEST_ANSWER,
        "tests/test.sh": LOCK + "cd /workspace && cp /tests/test_answer.py . && python3 -m pytest -q test_answer.py "
        "&& echo 1 > /logs/verifier/reward.txt\ntrue\n",
    },
    {
        "environment/Dockerfile": PYTEST_MACHINE,
        "tests/test_answer.py": TEST_ANSWER,
        "tests/test.sh": f"{LOCK}{ALONE} && echo 1 > /logs/verifier/reward.txt\ntrue\n",
    },
)

SYMLINK = _shared("symlink-artifact", 8, {"tests/test.sh": LOCK + COMPARE.replace('[ ! -L "$answer" ] && ', "")})

HONEYPOT = _shared(
    "one-pass-is-enough",
    14,
    {
        "environment/Dockerfile": PYTEST_MACHINE,
        "tests/test_answer.py": TEST_ANSWER,
        "tests/test.sh": f"{LOCK}{ALONE} > /logs/verifier/log\n"
        "grep -q passed /logs/verifier/log && echo 1 > /logs/verifier/reward.txt\ntrue\n",
    },
    CONFTEST.mended,
)

FLAWS = (PLANTED, LATE, POLLED_HOOK, TROJAN, CONFTEST, SYMLINK, HONEYPOT)
