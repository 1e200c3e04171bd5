"""`harness import KIND`: published tasks of another benchmark as task folders, by a family's part `commands.importing`."""

from __future__ import annotations

from parley.commands.kinds import kinds

import_command = kinds("import", "commands.importing")
