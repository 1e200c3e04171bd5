"""`harness models`: the models known by name, from parley/reports/models.toml. Any other model can run too."""

from __future__ import annotations

from harness.cli.tasks import Json
from harness.output import emit
from harness.tables import show_table
from parley.reports.models import known_models
from parley.reports.table import MISSING


def models_command(json: Json = False) -> None:
    """List the known models, one row each: name in reports, value for --model, and properties."""
    known = known_models()
    if json:
        emit([{**entry.model_dump(mode="json"), "size": entry.size} for entry in known])
        return
    rows = [
        (entry.name, entry.id or MISSING, entry.provider, entry.family, entry.kind, entry.size or MISSING, entry.price)
        for entry in known
    ]
    show_table(("name", "--model", "provider", "family", "kind", "size", "price"), rows)
