"""The reward a foreign verifier left: one number in 0..1, or the verifier's failure, never a guess.

reward.json goes before reward.txt, as under Harbor. It is a flat object of finite numbers; `reward` counts, or the only key
there is. Harbor passes booleans, keeps several keys apart and lets a reward be any size; here one number has to be the grade.
"""

from __future__ import annotations

import io
import json
import math
import re
import tarfile
from typing import Any, NoReturn

from harness.errors import VerifierFailure

REWARDS = ("/logs/verifier/reward.json", "/logs/verifier/reward.txt")
REWARD_LIMIT = 1 << 16
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SHOWN = 60


def file_in(archive: bytes, path: str) -> bytes:
    """The bytes of the one regular file an archive holds; raises VerifierFailure where it is something else."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        entry = opened.next()
        content = opened.extractfile(entry) if entry is not None and entry.isreg() else None
        if content is None:
            raise VerifierFailure(f"{path} is not a regular file")
        return content.read()


def reward_of(data: bytes, path: str) -> float:
    """The number in a reward file's bytes; raises VerifierFailure naming what is wrong."""
    value = _from_json(data, path) if path.endswith(".json") else _from_text(data, path)
    if not 0 <= value <= 1:
        raise VerifierFailure(f"{path} must hold a reward in 0..1, not {value!r}")
    return value


def _from_text(data: bytes, path: str) -> float:
    text = data.decode("utf-8", "replace").strip()
    if not _NUMBER.fullmatch(text):
        raise VerifierFailure(f"{path} must hold one number, not {text[:_SHOWN]!r}")
    return _finite(float(text), text, path)


def _from_json(data: bytes, path: str) -> float:
    try:
        rewards = json.loads(data, object_pairs_hook=_unique, parse_int=float)
    except (ValueError, RecursionError) as error:
        raise VerifierFailure(f"{path} is not the JSON of one object: {str(error)[:_SHOWN]}") from None
    if not isinstance(rewards, dict) or not rewards:
        raise VerifierFailure(f"{path} must hold an object with a number, not {_shown(rewards)}")
    numbers = {name: _finite(value, name, path) for name, value in rewards.items()}
    if "reward" not in numbers and len(numbers) > 1:
        raise VerifierFailure(f"{path} has {len(numbers)} keys and none is 'reward': {_shown(sorted(numbers))}")
    return numbers.get("reward", next(iter(numbers.values())))


def _finite(value: Any, name: str, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, float):
        _refuse(path, name, value)
    return value if math.isfinite(value) else _refuse(path, name, value)


def _refuse(path: str, name: str, value: Any) -> NoReturn:
    raise VerifierFailure(f"{path}: {name[:_SHOWN]!r} must be a finite number, not {_shown(value)}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys stand once: of two rewards neither counts."""
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _shown(value: Any) -> str:
    return json.dumps(value)[:_SHOWN]
