"""`harness images`, `doctor`: build the images of this host, and check its runtimes or a model's server."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import typer

from harness.agents.llm.model import ModelSettings
from harness.cli.config import settings_text
from harness.cli.tasks import Json, Names, selected
from harness.errors import GateFailed, UsageError
from harness.output import emit, say
from harness.runtime_choice import RUNTIMES, runtime_named
from harness.runtimes.docker.runtime import DockerRuntime
from harness.tables import show_table
from parley.commands.model_diagnosis import examine
from parley.sharing.bases import name_of_tests, push
from worlds.core.chance import PUBLISHED_KEY, key_digest


def images_command(
    ctx: typer.Context,
    names: Names = None,
    base: bool = typer.Option(
        False, "--base", help="Build only the base images. Those of a task are then built before its first episode."
    ),
    force: bool = typer.Option(False, help="Rebuild images that exist already."),
    prefix: str | None = typer.Option(
        None,
        "--push",
        metavar="PREFIX",
        help="Push the base images, and one with the tests of all tasks, to a registry instead.",
    ),
    json: Json = False,
) -> None:
    """Build the base images and that of the prover, then the images of the named tasks, or of all tasks."""
    runtime = DockerRuntime(say=say)
    if prefix is not None:
        named = {name_of_tests(task): task for task in selected(ctx, names)}
        references = list(push(runtime.engine, runtime.images, prefix, named, say))
        emit(references) if json else print("\n".join(references))
        say("next: save these lines in a file, then run harness export harbor DIR --images FILE")
        return
    tasks = [] if base else selected(ctx, names)
    runtime.images.build_bases(force=force, say=say)
    prover = runtime.images.build_prover(say=say)
    digests = {**runtime.prepare(tasks), "prover": runtime.images.image_id(prover) or ""}
    if json:
        emit(digests)
        return
    show_table(("image", "id"), list(digests.items()))


def doctor_command(
    model: str | None = typer.Option(None, help="Check this model with small calls, instead of this machine."),
    api_base: str | None = typer.Option(None, help="Base URL of an OpenAI-compatible server."),
    out: Path | None = typer.Option(
        None, "--out", "-o", help="File to write the recommended flags to, for harness run --config."
    ),
    overfill: bool = typer.Option(
        False, help="Send a prompt that is too long even if the context is large. Its tokens are charged."
    ),
    json: Json = False,
) -> None:
    """Open a small pod in every runtime, or check a model, and report what works."""
    if model is not None:
        _examine(ModelSettings(model, api_base), out, overfill=overfill, json=json)
        return
    if api_base or out or overfill:
        raise UsageError("--api-base, --out and --overfill need --model", hint="harness doctor --model MODEL")
    rows = []
    for name in RUNTIMES:
        runtime = runtime_named(name, say)
        probe = runtime.probe()
        rows.append({"runtime": name, "ok": probe.ok, "why": probe.why, "limits": runtime.limits()})
    facts = {"python": platform.python_version(), "edition": _edition()}
    if json:
        emit({"runtimes": rows, **facts})
        return
    show_table(("runtime", "works", "why"), [(r["runtime"], "yes" if r["ok"] else "no", r["why"]) for r in rows])
    for row in rows:
        if row["limits"]:
            say(f"{row['runtime']}: {row['limits']}")
    say(f"Python {facts['python']}; edition {facts['edition']}")


def _examine(settings: ModelSettings, out: Path | None, *, overfill: bool, json: bool) -> None:
    """Report what works at a model's server. Raises GateFailed if no run can work there."""
    tried = examine(settings, say, overfill=overfill)
    if not tried.unusable and out is not None:
        out.write_text(f"# harness doctor --model {settings.name}\n{settings_text(tried.settings)}", encoding="utf-8")
    command = None if tried.unusable else tried.command
    if json:
        emit({"settings": tried.settings, "command": command, "checks": [row._asdict() for row in tried.rows]})
    else:
        show_table(("check", "works", "what was seen", "what to do"), tried.rows)
    if command is None:
        raise GateFailed(f"{tried.client.name} cannot be used: {tried.unusable}")
    if not json:
        print(f"\n{command}")


def _edition() -> str:
    key = os.environ.get("PARLEY_KEY")
    return f"held-out, key digest {key_digest(key)}" if key else f"public, key digest {key_digest(PUBLISHED_KEY)}"
