"""Plays solve.py, or the violation whose name is given, against the world; exits 1 with one line when the client raises.

Boilerplate hidden-profile/1, written by `harness sync`: edits here are lost.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import httpx
from solve import solve
from violations import VIOLATIONS

Player = Callable[[httpx.Client, str, Callable[[float], None]], None]


def main() -> None:
    """Play once, with the instruction that lies beside this file."""
    name = sys.argv[1] if len(sys.argv) > 1 else "solve"
    if name != "solve" and name not in VIOLATIONS:
        sys.exit(f"no violation is called {name!r}; there are {', '.join(VIOLATIONS)}")
    player: Player = solve if name == "solve" else VIOLATIONS[name][1]
    instruction = Path(__file__).with_name("instruction.md").read_text(encoding="utf-8")
    with httpx.Client(base_url="http://api:8080", trust_env=False, timeout=30) as api:

        def wait(seconds: float) -> None:
            api.post("/clock/wait", json={"seconds": seconds}).raise_for_status()

        try:
            player(api, instruction, wait)
        except Exception as error:  # noqa: BLE001 - a client may raise anything; the world's log says what it did
            sys.exit(" ".join(f"{type(error).__name__}: {error}".split()))


if __name__ == "__main__":
    main()
