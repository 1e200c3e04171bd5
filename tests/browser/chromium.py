"""A real Chromium that opens pages and says what is wrong with each; `make browser` gets what it needs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LOOK = Path(__file__).with_name("look.cjs")


def opened(pages: Sequence[str], clicks: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What Chromium says of these pages, and where these clicks lead."""
    modules = os.environ.get("PARLEY_NODE_MODULES")
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert modules, "set PARLEY_NODE_MODULES to a folder with playwright-core and axe-core, as make browser does"
    assert executable, "no Chromium on PATH; try: apt-get install chromium"
    asked = json.dumps({"executable": executable, "pages": list(pages), "clicks": clicks})
    done = subprocess.run(
        ["node", str(LOOK), asked], capture_output=True, text=True, check=False, env={**os.environ, "NODE_PATH": modules}
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def troubles(seen: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The pages with something wrong."""
    return [one for one in seen if one["said"] or one["found"] or one["wider"] > 0]
