"""Texts that are sent to the seats of a family: its own, or overrides.

1. A family's texts are the Jinja templates in its folder texts/. Its part `placeholders` lists, for each file, the names it may
use, with a description and an example.
2. `harness run --templates` overrides texts file by file. Unknown files and unknown placeholders are refused by name, and so
is a text that cannot be rendered with the examples.
3. Overrides cannot run code and are bounded: they use placeholders, `if`, and `for` over given lists only. They are rendered in
Jinja's sandbox, up to a limit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import DictLoader, StrictUndefined, Template, TemplateError, TemplateNotFound, TemplateSyntaxError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from worlds.core.errors import ManifestError, WorldError
from worlds.core.parts import import_part

SUFFIX = ".md.j2"
"""Suffix of the files of texts."""

MAX_BYTES = 100_000
"""Maximum size of overrides as JSON: a world's process receives them in one environment variable (Linux: 128 KiB)."""

MOST_EXPANDED, MOST_RENDERED = 400_000, 4_000_000
"""Maximum characters of a text with its includes, and of a rendered text."""

FILTERS = ("capitalize", "first", "join", "last", "length", "lower", "title", "trim", "upper")
"""Filters that an override may use; none of them makes a short value long."""

_MAY_HOLD = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Include, nodes.If, nodes.For, nodes.Tuple, nodes.Name, nodes.Const,
    nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Getitem, nodes.Getattr, nodes.Filter,
    nodes.Sub,
)  # fmt: skip
_LONGEST_SEPARATOR = 20

_OF_A_WHOLE_TEXT: tuple[type[nodes.Node], ...] = (nodes.Extends, nodes.Block, nodes.Import, nodes.FromImport, nodes.Macro)
"""Tags whose meaning changes inside an included text."""


class Placeholder(NamedTuple):
    """A name that a text may use."""

    doc: str
    example: Any


Placeholders = Mapping[str, Mapping[str, Placeholder]]
"""File -> name -> placeholder."""


_AT_ONCE = 1024
"""Number of pieces of a text that are joined before its length is checked."""


class Texts:
    """The texts of one family, ready to render."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._environment = ImmutableSandboxedEnvironment(
            loader=DictLoader(dict(sources)),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
            auto_reload=False,
        )
        self._sources, self._compiled = sources, dict[str, Template]()

    def render(self, name: str, **values: Any) -> str:
        """Render one text by name, without its suffix; raises WorldError if it cannot be rendered with these values."""
        try:
            if name not in self._compiled:
                self._compiled[name] = self._composed(name + SUFFIX)
            template = self._compiled[name]
            # what `generate` does, without a generator around the template's own: a prompt has thousands of pieces
            return _bounded(template.root_render_func(template.new_context(values)))
        except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
            raise WorldError(f"{name}{SUFFIX} cannot be rendered: {error}") from None

    def _composed(self, file: str) -> Template:
        if file not in self._sources:
            raise TemplateNotFound(file)
        environment = self._environment
        placing = _InPlace(environment, self._sources, frozenset({file}))
        code = environment.compile(placing.visit(environment.parse(self._sources[file], file)))
        # the environment's own plain dict of globals: the chain of dicts that its loaders make is copied at every rendering
        return Template.from_code(environment, code, environment.globals)


def _bounded(pieces: Iterator[str]) -> str:
    """Join the pieces of a text, however many there are; raises ValueError if they exceed the limit."""
    made, size = list[str](), 0
    while some := list(islice(pieces, _AT_ONCE)):
        made.append("".join(some))
        size += len(made[-1])
        if size > MOST_RENDERED:
            raise ValueError(f"it becomes longer than {MOST_RENDERED} characters (limit rendered_text)")
    return "".join(made)


class _InPlace(NodeTransformer):
    """Transformer that inlines included texts once; Jinja would look each one up and copy all values at every rendering."""

    def __init__(self, environment: ImmutableSandboxedEnvironment, sources: Mapping[str, str], within: frozenset[str]) -> None:
        self._environment, self._sources, self._within = environment, sources, within

    def visit_Include(self, node: nodes.Include) -> nodes.Node:  # noqa: N802 - Jinja calls it by this name
        """Replace an include by the body of the text, in its own scope; leave a tag unchanged if it is more than a name."""
        file: str = node.template.value if isinstance(node.template, nodes.Const) else ""
        if file not in self._sources or file in self._within or not node.with_context:
            return node
        tree = self._environment.parse(self._sources[file], file)
        if any(tree.find(tag) for tag in _OF_A_WHOLE_TEXT):
            return node
        placing = _InPlace(self._environment, self._sources, self._within | {file})
        return nodes.Scope(placing.visit(tree).body, lineno=node.lineno)


def placeholders(family: str) -> Placeholders | None:
    """Return the files of a family's texts with their placeholders; None if its texts cannot be overridden."""
    module = import_part("worlds", family, "placeholders")
    return module.PLACEHOLDERS if module else None


@cache
def read_own_texts(family: str) -> dict[str, str]:
    """Return a family's own texts by file name; raises WorldError if it has none."""
    module = import_part("worlds", family, "placeholders")
    if module is None:
        raise WorldError(f"the family {family!r} has no texts")
    folder = Path(str(module.__file__)).with_name("texts")
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"*{SUFFIX}"))}


def load_texts(family: str, replaced: Mapping[str, str]) -> Texts:
    """Return the texts of a family with overrides; raises ManifestError for an invalid override."""
    return _texts(family, tuple(sorted(replaced.items())))


@lru_cache(maxsize=32)
def _texts(family: str, replaced: tuple[tuple[str, str], ...]) -> Texts:
    check_texts(family, dict(replaced))
    return Texts({**read_own_texts(family), **dict(replaced)})


def texts_digest(replaced: Mapping[str, str]) -> str:
    """Return a digest of the names and contents of overrides; "" if there are none."""
    if not replaced:
        return ""
    return hashlib.sha256(json.dumps(dict(replaced), sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def check_texts(family: str, replaced: Mapping[str, str]) -> None:
    """Raise ManifestError, with the file's name, for an invalid override of a family's text."""
    known = placeholders(family) or {}
    for name, text in replaced.items():
        if name not in known:
            raise ManifestError(f"{name} is no text of the family {family}; it has {', '.join(known) or 'none'}")
        for why in _against(text, known, name):
            raise ManifestError(f"{name}: {why}")
    if not replaced:
        return
    if len(json.dumps(dict(replaced))) > MAX_BYTES:
        raise ManifestError(f"the replaced texts are more than {MAX_BYTES} bytes as JSON (limit texts_bytes)")
    sources = {**read_own_texts(family), **replaced}
    weights = _Weights(sources)
    for name in sources:
        try:
            weights.check(name)
        except (ValueError, RecursionError) as error:
            raise ManifestError(f"{name}: {error}") from None
    texts = Texts(sources)
    for name, may in known.items():
        try:
            texts.render(name.removesuffix(SUFFIX), **{one: held.example for one, held in may.items()})
        except WorldError as error:
            raise ManifestError(str(error)) from None


def _against(text: str, known: Placeholders, name: str) -> Iterator[str]:
    """Yield the objections to a single text: syntax errors, forbidden constructs, unknown names."""
    try:
        tree = _parsed(text)
    except TemplateSyntaxError as error:
        yield f"line {error.lineno}: {error.message}"
        return
    except (ValueError, RecursionError) as error:
        yield f"it cannot be read: {error}"
        return
    # before Jinja looks for names, for which it works out what is constant
    yield from _not_plain(tree)
    for one in sorted(meta.find_undeclared_variables(tree) - set(known[name])):
        yield f"there is no placeholder {one!r}; there are {', '.join(sorted(known[name]))}"
    for part_of in tree.find_all(nodes.Getattr):
        if not (isinstance(part_of.node, nodes.Name) and part_of.node.name == "loop"):
            yield f"line {part_of.lineno}: placeholders have no parts, so .{part_of.attr} names nothing"
    for file in meta.find_referenced_templates(tree):
        if file not in known:
            yield f"it includes {file or 'a file that is worked out'}, which is no text of this family"


def _not_plain(tree: nodes.Template) -> Iterator[str]:
    """Yield the constructs of a text other than placeholders, `if`, `for` and the allowed filters."""
    for node in tree.find_all(nodes.Node):
        if isinstance(node, nodes.Filter):
            arguments = [one.value for one in (*node.args, *node.kwargs) if isinstance(one, nodes.Const)]
            is_plain = node.name in FILTERS and isinstance(node.node, nodes.Name | nodes.Getitem)
            if not is_plain or len(arguments) < len(node.args) + len(node.kwargs):
                yield f"line {node.lineno}: a placeholder may pass through one of {', '.join(FILTERS)}, and not {node.name}"
            elif any(len(str(one)) > _LONGEST_SEPARATOR for one in arguments):
                yield f"line {node.lineno}: a separator has at most {_LONGEST_SEPARATOR} characters"
        elif isinstance(node, nodes.For) and (node.recursive or not isinstance(node.iter, nodes.Name)):
            yield f"line {node.lineno}: for goes through a list that is given"
        elif not isinstance(node, _MAY_HOLD):
            yield f"line {node.lineno}: a text holds placeholders, if and for alone, and not {type(node).__name__}"


@lru_cache(maxsize=256)
def _parsed(text: str) -> nodes.Template:
    return ImmutableSandboxedEnvironment().parse(text)


class _Weights:
    """Length of each text with its includes, and nesting depth of its loops."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources, self._known = sources, dict[str, tuple[int, int]]()

    def check(self, file: str) -> None:
        """Raise ValueError for a text over the limits, or one that includes itself."""
        size, loops = self._of(file, ())
        if size > MOST_EXPANDED:
            raise ValueError(f"with all that it includes it is longer than {MOST_EXPANDED} characters (limit expanded_text)")
        if loops > 1:
            raise ValueError("a for stands within another (limit nested_loops)")

    def _of(self, file: str, within: tuple[str, ...]) -> tuple[int, int]:
        if file in within:
            raise ValueError(f"it includes itself: {' -> '.join((*within, file))}")
        if file not in self._known:
            size, loops = self._below(_parsed(self._sources[file]), (*within, file))
            self._known[file] = size + len(self._sources[file]), loops
        return self._known[file]

    def _below(self, node: nodes.Node, within: tuple[str, ...]) -> tuple[int, int]:
        if isinstance(node, nodes.Include) and isinstance(node.template, nodes.Const) and node.template.value in self._sources:
            return self._of(node.template.value, within)
        inside = [self._below(child, within) for child in node.iter_child_nodes()]
        loops = max((one for _, one in inside), default=0)
        return sum(size for size, _ in inside), loops + isinstance(node, nodes.For)
