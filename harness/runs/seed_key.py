"""Key of the random values of a run's instances: the published key, a private one, or one generated for this run.

Every instance can be computed from the published key, so a model may have memorized the instances. `--key fresh` generates a
key of 128 bits and stores it in the run's folder, readable by its owner alone. `--key RUN` plays another model on the same
instances. run.json and results contain only the digest of a key, so both can be published while the key is still in use.
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
    """Return the key that `--key` names, or else the key of the resumed run, of PARLEY_KEY, or the published one.

    Raises UsageError for a folder without a key, and for a file that contains none.
    """
    if named == FRESH:
        return secrets.token_hex(16)
    if named == PUBLISHED:
        return PUBLISHED_KEY
    if named is not None:
        kept = _kept(Path(named))
        if kept is None:
            why = f"--key must be {FRESH}, {PUBLISHED} or the folder of a run with {KEY_FILE}, not {named!r}"
            raise UsageError(why, hint="harness run ... --key fresh")
        return kept
    return (earlier and _kept(earlier)) or environ.get("PARLEY_KEY") or PUBLISHED_KEY


def keep_key(key: str, folder: Path) -> None:
    """Write a generated key to the folder of a run; the operator's own key and the published one are not stored."""
    if not _DRAWN.fullmatch(key) or key == os.environ.get("PARLEY_KEY"):
        return
    path = folder / KEY_FILE
    path.touch(mode=0o600)
    path.write_text(f"{key}\n", encoding="ascii")


def _kept(folder: Path) -> str | None:
    """Return the key stored in a run's folder, or in the parts of a sweep; None if there is none."""
    for path in (folder / KEY_FILE, *sorted(folder.glob(f"*/{KEY_FILE}"))):
        if not path.is_file() or path.is_symlink():
            continue
        text = path.read_text(encoding="ascii", errors="replace").strip()
        if not _DRAWN.fullmatch(text):
            raise UsageError(f"{path} holds no key of 32 hexadecimal digits")
        return text
    return None
