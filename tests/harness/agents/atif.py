"""The published schema of ATIF-v1.8 documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCHEMA: dict[str, Any] = json.loads(Path(__file__).with_name("atif-v1.8.schema.json").read_text(encoding="utf-8"))
