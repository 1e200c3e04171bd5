"""`harness audit KIND`: measures that need a judge, over recorded runs (`commands.audit` of a family)."""

from __future__ import annotations

from parley.commands.kinds import kinds

audit_command = kinds("audit", "commands.audit")
