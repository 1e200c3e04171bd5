"""The tasks that a command line names, with the trust in the code of their folders."""

from __future__ import annotations

import typer

from harness.cli.tasks import selected
from harness.trust import TrustGate, gate


def gated(ctx: typer.Context, names: list[str] | None, *, trust: bool) -> TrustGate:
    """Return the tasks that a command line names, with the permission to run the code in their folders."""
    return gate(selected(ctx, names), trust=trust)
