"""The files of `main` that a verifier reads, as far as the folder says: declared artifacts, else what the tests name."""

from __future__ import annotations

import re

from harness.attacks.target import Target
from harness.registry import files_of

_PATH = re.compile(r"(?<![\w./-])/(?:workspace|app|home|root|work|data|output|results?|submission|tmp)/[\w./-]*\w")


def handed_in(target: Target) -> list[str]:
    """The declared artifacts; where the verifier shares the agent's machine, also the paths its tests and the brief name."""
    named: set[str] = set()
    if target.shares_verifier:
        texts = [target.task.path / "instruction.md", *files_of(target.task.path / "tests")]
        for path in texts:
            named.update(_PATH.findall(path.read_text(encoding="utf-8", errors="replace")))
    return list(dict.fromkeys([*target.artifacts, *sorted(named)]))
