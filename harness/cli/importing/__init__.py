"""`harness import`: published tasks of another benchmark as task folders of ours, one command for each format."""

from __future__ import annotations

from harness.cli.importing.calbench import import_calbench
from harness.cli.importing.hiddenbench import import_hiddenbench
from harness.cli.kinds import kinds

import_command = kinds()
import_command.command("calbench")(import_calbench)
import_command.command("hiddenbench")(import_hiddenbench)
