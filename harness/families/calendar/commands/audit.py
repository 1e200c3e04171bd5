"""What `harness audit` offers of calendar games; each audit is a module of its own."""

from __future__ import annotations

from harness.families.calendar.commands.audit_messages import audit_messages
from harness.families.calendar.commands.audit_privacy import audit_privacy
from harness.families.calendar.commands.audit_vps import audit_vps

KINDS = {"messages": audit_messages, "privacy": audit_privacy, "vps": audit_vps}
