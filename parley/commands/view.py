"""`harness view`: recorded runs as pages, served to this machine only, or written into a folder to publish."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

import typer

from harness.cli.amounts import counted
from harness.errors import UsageError, quoted
from harness.output import people, say
from harness.run_files import is_packed, is_run
from parley.reports.reading import is_episode
from parley.reports.viewing import Library, Site, first_page, open_server, write_bundle


def view_command(
    runs: list[Path] | None = typer.Argument(
        None, metavar="RUN...", help="Runs, folders of runs, or one episode. Default: runs/."
    ),
    bundle: Path | None = typer.Option(None, help="Folder to write the pages into instead, to publish them."),
    port: int | None = typer.Option(None, min=0, max=65535, help="Port of the server. Default: 8642, or any free one."),
    host: str = typer.Option("127.0.0.1", help="Address to listen on, which must be a loopback address."),
    browser: bool = typer.Option(True, help="Open the page in a browser if there is a screen."),
) -> None:
    """Read recorded runs in a browser."""
    if bundle is not None and port is not None:
        raise UsageError(
            "--bundle writes files, and --port belongs to the server", hint=f"harness view RUNS --bundle {quoted(bundle)}"
        )
    folders, episode = _named(runs or [Path("runs")])
    library = Library(folders)
    if bundle is not None:
        _write(library, bundle)
        return
    site = Site(library)
    with open_server(site, host, port) as server:
        # read all results and import the templates before the first request
        site.answer("index.html")
        url = server.url + first_page(library, episode)
        print(url, flush=True)
        say(f"  {_counted(library)}; only this machine can open the pages, and they are read-only; stop with Ctrl-C")
        if browser and people.is_terminal and (sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ)):
            webbrowser.open(url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("ended")


def _named(words: list[Path]) -> tuple[list[Path], Path | None]:
    """Return the folders of runs that these words name, and the episode if the words name one."""
    if len(words) == 1 and is_episode(words[0]):
        episode = words[0].resolve()
        if len(episode.parts) < 5 or episode.parts[-4] != "episodes" or not is_run(episode.parents[3]):
            raise UsageError(f"{words[0]} is not in the folder of a run", hint=f"harness show {quoted(words[0])}")
        return [episode.parents[3]], episode
    missing = [word for word in words if not (word.is_dir() or is_packed(word))]
    if missing:
        raise UsageError(f"no folder named {missing[0]}", hint="harness view RUN, or a folder of runs")
    return words, None


def _counted(library: Library) -> str:
    """Return the number of runs and episodes as text."""
    runs = library.runs()
    return f"{counted(len(runs), 'run')}, {counted(sum(len(run.episodes) for run in runs), 'episode')}"


def _write(library: Library, bundle: Path) -> None:
    def wrote(number: int) -> None:
        if number % 1000 == 0:
            say(f"{number:,} files")

    damaged = write_bundle(library, bundle, wrote)
    print(bundle / "index.html")
    if damaged:
        number = f"{damaged} episodes" if damaged > 1 else "one episode"
        raise UsageError(
            f"the bundle is written, but {number} could not be read",
            hint=f"harness view RUNS --bundle {quoted(bundle)}",
        )
