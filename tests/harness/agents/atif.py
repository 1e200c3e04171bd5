"""The published schema of ATIF-v1.8 documents, compiled once."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

SCHEMA = jsonschema.Draft202012Validator(
    json.loads(Path(__file__).with_name("atif-v1.8.schema.json").read_text(encoding="utf-8"))
)
