"""What Scout reads in a database of transcripts, and what `scout import atif` makes of trajectories behind --atif."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from inspect_scout import TranscriptContent, transcripts_from


async def transcripts(folder: str) -> dict[str, Any]:
    """Every transcript by its id: its columns, its messages, and the spans and calls of its events."""
    told = {}
    async with transcripts_from(folder).reader() as reader:
        async for info in reader.index():
            whole = await reader.read(info, TranscriptContent(messages="all", events="all"))
            told[info.transcript_id] = {
                **info.model_dump(mode="json"),
                "messages": [message.text for message in whole.messages],
                "spans": [event.name for event in whole.events if event.event == "span_begin"],
                "calls": sum(event.event == "model" for event in whole.events),
            }
    return told


def imported(jobs: str, folder: str) -> str:
    """A database that Scout makes itself of the trajectories of jobs."""
    command = [str(Path(sys.executable).parent / "scout"), "import", "atif", "-P", f"path={jobs}", "-T", folder]
    subprocess.run([*command, "--display", "none"], check=True, stdout=subprocess.DEVNULL)
    return folder


def main() -> None:
    """Print what it reads."""
    with tempfile.TemporaryDirectory() as folder:
        database = imported(sys.argv[1], f"{folder}/database") if "--atif" in sys.argv else sys.argv[1]
        print(json.dumps(asyncio.run(transcripts(database))))


main()
