"""The sound folder that all flaws are changes of: every attack holds on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.attacks.suite import besiege
from harness.runtimes.docker.runtime import DockerRuntime
from tests.attacks.flawed import Flaw

pytestmark = pytest.mark.docker


def test_no_attack_succeeds_on_a_sound_folder(tmp_path: Path) -> None:
    """Each attack either holds, having examined something, or does not apply."""
    sound = Flaw("sound", 0, {}).folder(tmp_path)

    siege = besiege([sound], DockerRuntime())

    assert [(row.attack, row.outcome, row.holes, row.reason) for row in siege.rows if not row.passes] == []
    assert siege.ok
