"""What `harness audit` offers of calendar games; each audit is a module of its own."""

from __future__ import annotations

from harness.families.calendar.commands.audit_messages import audit_messages

KINDS = {"messages": audit_messages}
