"""Requirements of a foreign folder for a container engine, from task.toml and environment/: services, phases, images.

Every feature of Harbor 0.25 is either supported or refused by name (docs/harbor.md has a table of all keys).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from harness.errors import TaskInvalid
from harness.registry import Task
from harness.runtimes.docker.engine.dockerfile import RecipeStep, bases, beyond_classic, instructions
from harness.runtimes.docker.engine.images import ROOM_LABEL, TASK_LABEL, Context, Images, image_name, linked_context
from harness.taskfile import Artifact, EnvironmentSection, read_text
from parley.interop.foreign.compose import Build, Service, read_compose
from parley.interop.foreign.variables import filled, solution_environment

VERIFIER, HELPER = "verifier", "helper"
"""Names of images besides those of the services; no service of a task may have these names."""

CONVENTION = "/logs/artifacts"
"""Folder in `main` whose content is sent to a separate verifier without being declared."""

_GAINS = re.compile(r"\b(?:sudo|doas|setcap)\b|chmod\s+(?:-\S+\s+)*(?:[2467][0-7]{3}\b|[ugoa]*[+=][rwxX]*s)")


@dataclass(frozen=True)
class Verifier:
    """Settings of a separate verifier: `image` is its image or build, or None to use that of `main`."""

    settings: EnvironmentSection
    environment: Mapping[str, str]
    uploads_tests: bool


def services_of(task: Task) -> dict[str, Service]:
    """Return every service of a task in start order, `main` with Harbor's defaults; raises TaskInvalid."""
    folder, section = task.path / "environment", task.file.environment
    file = folder / "docker-compose.yaml"
    composed = read_compose(file, {**task.granted, **main_environment(task)}) if file.exists() else {}
    main = composed.get("main", Service("main"))
    if main.image is None and main.build is None:
        main = replace(main, image=section.docker_image, build=None if section.docker_image else Build(folder))
    return {**{name: service for name, service in composed.items() if name != "main"}, "main": main}


def main_environment(task: Task) -> dict[str, str]:
    """Return [environment.env] with its variables substituted; raises TaskInvalid."""
    return filled(task, task.file.environment.env, "environment", "env")


def tests_environment(task: Task) -> dict[str, str]:
    """Return the variables of test.sh besides its container's environment; raises TaskInvalid."""
    return filled(task, task.file.verifier.env, "verifier", "env")


def verifier_of(task: Task) -> Verifier | None:
    """Return the container of a separate verifier, by Harbor's precedence; None for a shared one; raises TaskInvalid."""
    verifier, section = task.file.verifier, task.file.environment
    if not verifier.is_separate:
        return None
    settings = verifier.environment or section
    place = ("verifier", "environment", "env") if verifier.environment else ("environment", "env")
    image = verifier.environment.docker_image if verifier.environment else None
    own = image is not None or (task.path / "tests" / "Dockerfile").exists()
    chosen = settings.model_copy(update={"docker_image": image if own else section.docker_image})
    return Verifier(chosen, filled(task, settings.env, *place), uploads_tests=not own)


def public_phases(task: Task) -> dict[str, bool]:
    """Return for each phase whether `main` has egress: its start, the agent's turn, and the tests of a shared verifier."""
    file = task.file
    base = file.environment.network_mode or "public"
    modes = {"start": base, "agent": file.agent.network_mode or base}
    if not file.verifier.is_separate:
        modes["verifier"] = file.verifier.network_mode or base
    return {phase: mode == "public" for phase, mode in modes.items()}


def verifier_is_public(task: Task) -> bool:
    """Return True if a separate verifier has egress."""
    verifier = task.file.verifier
    own = verifier.environment or task.file.environment
    return (verifier.network_mode or own.network_mode or "public") == "public"


def artifacts_of(task: Task) -> list[Artifact]:
    """Return the artifacts for a separate verifier without duplicate sources, the conventional folder of `main` first."""
    declared = [*task.file.artifacts]
    if not any(a.source.rstrip("/") == CONVENTION and (a.service or "main") == "main" for a in declared):
        declared.insert(0, Artifact(source=CONVENTION))
    first: dict[str, Artifact] = {}
    for artifact in declared:
        first.setdefault(artifact.source.rstrip("/") or "/", artifact)
    return list(first.values())


def may_gain_privileges(task: Task) -> bool:
    """Return True if task.toml allows it, or a Dockerfile (main, tests) names sudo, setcap or a setuid bit."""
    build = services_of(task)["main"].build
    recipes = [build.context / build.dockerfile] if build else []
    texts = [path.read_text("utf-8", "replace") for path in (*recipes, task.path / "tests" / "Dockerfile") if path.is_file()]
    return task.file.metadata.foreign.new_privileges or any(map(_GAINS.search, texts))


def unsupported(task: Task) -> str | None:
    """Return an unsupported Harbor feature that a task needs, or None; raises TaskInvalid for an invalid folder."""
    services = services_of(task)
    main_environment(task), solution_environment(task), tests_environment(task), verifier_of(task)
    named = [("an artifact", artifact.service or "main") for artifact in task.file.artifacts]
    named += [("verifier.collect", hook.service) for hook in task.file.verifier.collect]
    for what, name in named:
        if name not in services:
            raise TaskInvalid(f"{task.path}/task.toml:1: {what} names service {name}; there are {', '.join(services)}")
    for need in _beyond(task, services):
        return f"{task.task_id} needs {need}, which this harness does not support"
    for path, recipe, _ in recipes_of(task):
        if beyond := beyond_classic(recipe):
            line, what = beyond
            return f"{path}:{line}: {what} needs BuildKit, and images are built here by the classic builder"
    return None


def recipes_of(task: Task) -> Iterator[tuple[Path, list[RecipeStep], Mapping[str, str]]]:
    """Yield each Dockerfile that is built for a task: path, instructions, build arguments; raises TaskInvalid."""
    builds = [service.build for service in services_of(task).values() if service.image is None]
    verifier = verifier_of(task)
    if verifier is not None and not verifier.uploads_tests and verifier.settings.docker_image is None:
        builds.append(Build(task.path / "tests"))
    for build in builds:
        if build is not None and (path := build.context / build.dockerfile).is_file():
            yield path, instructions(read_text(path, errors="replace")), build.args


def _beyond(task: Task, services: Mapping[str, Service]) -> Iterator[str]:
    file, verifier = task.file, task.file.verifier
    own = verifier.environment
    containers = [file.environment, *([own] if own else [])]
    modes = {file.agent.network_mode, verifier.network_mode, *(section.network_mode for section in containers)}
    copied = verifier.is_separate and (verifier_of(task) or Verifier(file.environment, {}, False)).uploads_tests
    needs = {
        "an operating system other than linux": any(section.os != "linux" for section in containers),
        "GPUs": any(section.gpus or section.gpu_types or section.tpu for section in containers),
        "MCP servers or skills": any(section.mcp_servers or section.skills_dir for section in containers),
        "a network allowlist": "allowlist" in modes,
        "services beside the verifier": (task.path / "tests" / "docker-compose.yaml").exists()
        or (copied and len(services) > 1),
        "a healthcheck of the verifier": bool(own and own.healthcheck),
        "artifacts in /tests, where they would be tests": any(f"{a.source}/".startswith("/tests/") for a in file.artifacts),
        "artifacts with exclude": any(artifact.exclude for artifact in file.artifacts),
        "a trajectory to go on from": (task.path / "trajectory.json").exists(),
        ".harborignore": any(task.path.rglob(".harborignore")),
        f"services of other names than {VERIFIER} and {HELPER}": bool({VERIFIER, HELPER} & services.keys()),
    }
    return (what for what, needed in needs.items() if needed)


def build_images(task: Task, images: Images) -> dict[str, str]:
    """Build the images of services, separate verifier and helper as needed, and return them by name; raises ImageFailure."""
    ours = images.build_bases()
    for path, recipe, arguments in recipes_of(task):
        for line, image in bases(recipe, arguments):
            images.need(image, f"{path}:{line}")
    tags = {name: service.image or _build(task, name, service.build, images) for name, service in services_of(task).items()}
    if (verifier := verifier_of(task)) is not None:
        own = tags["main"] if verifier.uploads_tests else verifier.settings.docker_image
        tags[VERIFIER] = own or _build(task, VERIFIER, Build(task.path / "tests"), images)
    for tag in tags.values():
        images.need(tag)
    return {**tags, HELPER: ours["agent"]}


def upload_of(task: Task) -> Context | None:
    """Return the files of environment/ that Harbor copies to the workdir of a prebuilt image; None if there are none."""
    folder = task.path / "environment"
    built = any((folder / name).exists() for name in ("Dockerfile", "docker-compose.yaml"))
    if built or task.file.environment.docker_image is None or not folder.is_dir():
        return None
    return linked_context(folder)


def _build(task: Task, name: str, build: Build | None, images: Images) -> str:
    if build is None or not (build.context / build.dockerfile).is_file():
        where = build.context / build.dockerfile if build else task.path / "environment" / "Dockerfile"
        raise TaskInvalid(f"{where}:1: the file is missing, and service {name} has no image")
    context = _unignored(build.context, linked_context(build.context, build.dockerfile))
    below = [images.image_id(image) or "" for _, image in bases(instructions(context.text), build.args)]
    tag = image_name(task, name) + ":" + context.digest(json.dumps(dict(build.args), sort_keys=True), *below)
    return images.build(context, tag, {TASK_LABEL: task.task_id, ROOM_LABEL: name}, build.args, folder=build.context)


def _unignored(folder: Path, context: Context) -> Context:
    """Return a build context without the files that its .dockerignore excludes, as a Docker client does."""
    if ".dockerignore" not in context.files:
        return context
    patterns = context.files[".dockerignore"].data.decode("utf-8", "replace").splitlines()
    wanted = [line.strip() for line in patterns if line.strip() and not line.startswith("#")]
    kept = import_module("docker.utils.build").exclude_paths(str(folder), wanted, dockerfile=context.dockerfile)
    files = {name: file for name, file in context.files.items() if name in kept}
    return replace(context, files=files, links={name: target for name, target in context.links.items() if name in kept})
