#!/bin/bash
# Boilerplate contract/4, written by `harness sync`: edits here are lost.
# Plays solve.py, or the violation whose name is given, against the world; exits 1 with one line when the client raises.
cd "$(dirname "$0")" && exec python3 -B - "$@" <<'PLAYER'
import sys
from pathlib import Path

import httpx
from solve import solve
from violations import VIOLATIONS

name = sys.argv[1] if len(sys.argv) > 1 else "solve"
if name != "solve" and name not in VIOLATIONS:
    sys.exit(f"no violation is called {name!r}; there are {', '.join(VIOLATIONS)}")
player = solve if name == "solve" else VIOLATIONS[name][1]
given = Path("instruction.md")
with httpx.Client(base_url="http://api:8080", trust_env=False, timeout=30) as api:

    def wait(seconds):
        api.post("/clock/wait", json={"seconds": seconds}).raise_for_status()

    try:
        instruction = given.read_text(encoding="utf-8") if given.exists() else api.get("/instruction").raise_for_status().text
        player(api, instruction, wait)
    except Exception as error:
        sys.exit(" ".join(f"{type(error).__name__}: {error}".split()))
PLAYER
