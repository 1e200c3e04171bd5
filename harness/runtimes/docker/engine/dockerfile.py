"""Parser of Dockerfiles: instructions with their lines, base images, and features that the classic builder lacks.

It parses like the classic builder: comments and continued lines are joined, and stage names and default arguments are resolved.
Nothing is executed, and what cannot be determined from the text is left to the build.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_HEREDOC = re.compile(r"\d*<<-?['\"]?[^<'\"]+['\"]?")
_ONLY_BUILDKIT = {
    "RUN": ("--mount", "--network", "--security", "--device"),
    "COPY": ("--chmod", "--link", "--parents", "--exclude"),
    "ADD": ("--chmod", "--link", "--checksum", "--exclude", "--keep-git-dir", "--unpack"),
}
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}$]*))?\}|(\w+))")


@dataclass(frozen=True)
class RecipeStep:
    """Instruction of a Dockerfile: the line that it begins on, its keyword in capitals, and the rest of it on one line."""

    line: int
    keyword: str
    rest: str


def instructions(text: str) -> list[RecipeStep]:
    """Return every instruction of a Dockerfile in order, which are the classic builder's steps."""
    steps: list[RecipeStep] = []
    parts: list[str] = []
    began = 0
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        began = began if parts else number
        parts.append(words.removesuffix("\\").strip())
        if not words.endswith("\\"):
            steps.append(_instruction(began, parts))
            parts = []
    return [*steps, _instruction(began, parts)] if parts else steps


def _instruction(line: int, parts: Sequence[str]) -> RecipeStep:
    keyword, *rest = " ".join(parts).split(maxsplit=1) or [""]
    return RecipeStep(line, keyword.upper(), "".join(rest))


def bases(recipe: Sequence[RecipeStep], arguments: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the images that a Dockerfile is built on, with the line of each; `arguments` are those of the build.

    The Dockerfile's own stages and `scratch` are not included, and neither are images whose names remain unresolved.
    """
    known, stages = dict[str, str](), {"scratch"}
    for one in recipe:
        if one.keyword == "ARG":
            name, _, value = one.rest.partition("=")
            known[name] = arguments.get(name, value.strip("'\""))
        elif one.keyword == "FROM":
            image, *more = [word for word in one.rest.split() if not word.startswith("--")] or [""]
            image = _VARIABLE.sub(lambda asked: known.get(asked[1] or asked[3]) or asked[2] or "", image)
            if image and image.lower() not in stages:
                yield one.line, image
            stages |= {more[1].lower()} if len(more) == 2 and more[0].upper() == "AS" else set()


def beyond_classic(recipe: Sequence[RecipeStep]) -> tuple[int, str] | None:
    """Return the line of the first instruction that needs BuildKit, and the feature; None if the classic builder suffices."""
    for one in recipe:
        flags = [flag for flag in _ONLY_BUILDKIT.get(one.keyword, ()) if re.match(rf"(?:--\S+\s+)*{flag}\b", one.rest)]
        if flags:
            return one.line, f"{one.keyword} {flags[0]}"
        if one.keyword in _ONLY_BUILDKIT and any(map(_HEREDOC.fullmatch, _words(one.rest))):
            return one.line, f"a heredoc in {one.keyword}"
    return None


def _words(text: str) -> list[str]:
    """Return the words of a line with their quotes; empty if a quote is not closed."""
    try:
        return shlex.split(text, posix=False)
    except ValueError:
        return []
