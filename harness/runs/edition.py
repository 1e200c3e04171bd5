"""Which key a run's draws are made with: the published one, one of the operator's own, or one drawn for this run.

Whoever has the published key can compute every instance, so a model may have learned them by heart. `--key fresh` draws a key
of 128 bits and keeps it in the run's folder, readable by its owner alone; `--key RUN` plays another model on the same draws.
run.json and results hold the digest of a key and never the key, so both can be published while the key is still in use.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from harness.errors import UsageError
from worlds.core.chance import PUBLISHED_KEY

FRESH, PUBLISHED = "fresh", "published"
KEY_FILE = "edition.key"
_DRAWN = re.compile(r"[0-9a-f]{32}")


def chosen_key(named: str | None, earlier: Path | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """The key that `--key` names, else that of an earlier run that is gone on with, else PARLEY_KEY, else the published one.

    Raises UsageError for a folder that keeps no key, and for a file that holds none.
    """
    if named == FRESH:
        return secrets.token_hex(16)
    if named == PUBLISHED:
        return PUBLISHED_KEY
    if named is not None:
        kept = _kept(Path(named))
        if kept is None:
            raise UsageError(
                f"--key must be {FRESH}, {PUBLISHED} or the folder of a run with {KEY_FILE}, not {named!r}",
                hint="harness run ... --key fresh",
            )
        return kept
    return (earlier and _kept(earlier)) or environ.get("PARLEY_KEY") or PUBLISHED_KEY


def keep_key(key: str, folder: Path) -> None:
    """Leave a drawn key in the folder of a run; the operator's own and the published one are kept nowhere."""
    if not _DRAWN.fullmatch(key) or key == os.environ.get("PARLEY_KEY"):
        return
    path = folder / KEY_FILE
    path.touch(mode=0o600)
    path.write_text(f"{key}\n", encoding="ascii")


def _kept(folder: Path) -> str | None:
    """The key that a run's folder keeps, or the parts of a sweep in it."""
    for path in (folder / KEY_FILE, *sorted(folder.glob(f"*/{KEY_FILE}"))):
        if not path.is_file() or path.is_symlink():
            continue
        text = path.read_text(encoding="ascii", errors="replace").strip()
        if not _DRAWN.fullmatch(text):
            raise UsageError(f"{path} holds no key of 32 hexadecimal digits")
        return text
    return None
