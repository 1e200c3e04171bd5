"""`harness audit KIND`: measures that need a judge, over runs that are there already (`commands.audit` of a family)."""

from __future__ import annotations

from harness.cli.kinds import kinds

audit_command = kinds("audit", "commands.audit")
