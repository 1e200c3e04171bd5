"""The tasks that a command line names, with what it may do with the code in their folders."""

from __future__ import annotations

import typer

from harness.cli.tasks import selected
from harness.trust import TrustGate, gate


def gated(ctx: typer.Context, names: list[str] | None, *, trust: bool) -> TrustGate:
    """The tasks a command line names, and what it may do with the code in their folders."""
    return gate(selected(ctx, names), trust=trust)
