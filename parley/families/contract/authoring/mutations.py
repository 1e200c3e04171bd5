"""`harness verify --mutations`: the effect of changed requests and answers on each contract's oracle, with and without handles.

For each task and each of the five mutations the oracle plays twice at seed 0: as a direct-pass client (every byte goes through
the mutation; `bites` is True if any byte changes), and as a handle client (received values are sent by name). A direct-pass
client must earn the predicted label if the mutation bites, and succeed otherwise; clipped input is the paper's
TOOL_INPUT_TOO_LONG. The predicted label is that of a signed link, unless the task names another label in MUTATED.

A handle client sends long received values by their handles, never verbatim. It is a wrapper around the task's own solution, so
the same oracle is the direct-pass client without the wrapper and the handle client with it. It has handles only for received
values; a value that the solution derived (a hash, another encoding) is sent verbatim.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import unescape
from typing import NamedTuple

from harness.agent import Budget, Report
from harness.agents.handles import HandleStore
from harness.agents.path import RoutedPod
from harness.agents.solutions import SolutionAgent, declared
from harness.errors import TaskInvalid
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.inprocess import InProcessRuntime
from harness.runtimes.judging import judge_in_process
from parley.proof.leaks import leaves
from parley.reports.table import Table, titled
from validators.verdict import Verdict
from worlds.contract.labels import Label
from worlds.contract.mutations import DEFAULTS, PREDICTED, TRUNCATION_DETAIL
from worlds.core.errors import ParleyError
from worlds.core.manifest import OptionValue
from worlds.core.models import Strict
from worlds.core.wire import API_URL, Transport, WireRequest, WireResponse

LONG = 64
"""Minimum number of characters of a value that gets a handle."""

_WORD = re.compile(rf"[^\s`\"'<>]{{{LONG},}}")
_HREF = re.compile(r'href="([^"]+)"')


class HandleClient:
    """Transport that stores long values of a client and sends their handles."""

    def __init__(self, transport: Transport, store: HandleStore) -> None:
        self._send, self._store = transport, store
        self._handles: dict[str, str] = {}
        for word in _WORD.findall(store.instruction):
            self._learn(word, word)

    def __call__(self, request: WireRequest) -> WireResponse:
        """Send the request with handles in place of values, and store the values of the world's original answer."""
        answer = self._send(self._named(request))
        true = self._store.last or answer
        for value in _values(true):
            self._learn(value, value)
        # store a link by its place in the page, even if a mutation changed the page
        for shown, href in zip(_hrefs(answer), _hrefs(true), strict=False):
            self._learn(shown, href)
        return answer

    def _learn(self, shown: str, value: str) -> None:
        if len(value) >= LONG and shown not in self._handles:
            self._handles[shown] = self._store.store(f"v{len(self._handles) + 1}", value.encode())
            # a client sends only the target of an address
            if value.startswith(API_URL):
                self._learn(shown.removeprefix(API_URL), value.removeprefix(API_URL))

    def _named(self, request: WireRequest) -> WireRequest:
        target = self._with_names(request.target.decode("latin-1"))
        target = target if target.startswith("/") else f"/{target}"
        headers = tuple((name, self._with_names(value)) for name, value in request.headers)
        return request._replace(target=target.encode("latin-1"), headers=headers)

    def _with_names(self, text: str) -> str:
        for value in sorted(self._handles, key=len, reverse=True):
            text = text.replace(value, self._handles[value])
        return text


def _values(answer: WireResponse) -> Iterator[str]:
    """Yield everything in an answer that could be sent again: header values, the leaves of JSON, words of text."""
    yield from (value for _, value in answer.headers)
    text = answer.body.decode("utf-8", "replace")
    try:
        yield from leaves(json.loads(text))
    except (ValueError, RecursionError):
        yield from _WORD.findall(text)


def _hrefs(answer: WireResponse) -> list[str]:
    return [unescape(href) for href in _HREF.findall(answer.body.decode("utf-8", "replace"))]


MUTATIONS = tuple(f"{name}={number}" if number else name for name, number in DEFAULTS.items())


_COLUMNS = titled(task_id="task", mutation="mutation", predicted="predicted", direct="direct pass", handled="by handles", ok="")


class Cell(Strict):
    """A task under one mutation."""

    task_id: str
    mutation: str
    bites: bool
    predicted: str
    direct: str
    """The label of the direct-pass client, with its class of bytes."""

    handled: str
    """The label of the handle client."""

    ok: bool


class _Played(NamedTuple):
    log: bytes
    bites: bool


def matrix(tasks: Iterable[Task], mutations: Sequence[str] = MUTATIONS) -> list[Cell]:
    """Return every task under every mutation. Raises VerifierFailure if an episode gets no verdict."""
    return [cell for task in tasks for cell in _row(task, mutations)]


def table(cells: Sequence[Cell]) -> Table:
    """Return a table of the cells in which the mutation bites, and of those that are not as predicted."""
    biting = [cell for cell in cells if cell.bites]
    shown = dict.fromkeys([*biting, *(cell for cell in cells if not cell.ok)])
    rows = tuple({**cell.model_dump(), "ok": "ok" if cell.ok else "WRONG"} for cell in shown)
    healed = sum(cell.handled == "SUCCESS" for cell in biting)
    told = f"{len(biting)} of {len(cells)} pairs of task and mutation change bytes; value handles repair {healed}"
    return Table("mutations", "Labels under mutations of the path", _COLUMNS, rows, (told,))


def _row(task: Task, mutations: Sequence[str]) -> list[Cell]:
    try:
        return _cells(task, mutations)
    except ParleyError:
        raise
    except Exception as error:
        raise TaskInvalid(f"{task.path}: {type(error).__name__}: {error}", hint=f"harness verify {task.task_id}") from error


def _cells(task: Task, mutations: Sequence[str]) -> list[Cell]:
    direct = [_play(task, mutation, lambda pod: pod.call) for mutation in mutations]
    handled = [_play(task, mutation, _by_handles) for mutation in mutations]
    judged = judge_in_process(task, [played.log for played in (*direct, *handled)])
    verdicts = [Verdict.model_validate_json(judgement.verdict) for judgement in judged]
    halves = zip(mutations, direct, verdicts[: len(direct)], verdicts[len(direct) :], strict=True)
    return [_cell(task, mutation, played.bites, *seen) for mutation, played, *seen in halves]


def _cell(task: Task, mutation: str, bites: bool, direct: Verdict, handled: Verdict) -> Cell:
    name = mutation.partition("=")[0]
    predicted = declared(task, "MUTATED").get(name, PREDICTED[name]) if bites else Label.SUCCESS
    return Cell(
        task_id=task.task_id, mutation=mutation, bites=bites, predicted=predicted, direct=_told(mutation, direct),
        handled=handled.failure_label, ok=direct.failure_label == predicted,
    )  # fmt: skip


def _told(mutation: str, verdict: Verdict) -> str:
    kind = verdict.failure_detail.get("class")
    if kind == "truncated" and mutation.startswith("clip"):
        kind = TRUNCATION_DETAIL
    return f"{verdict.failure_label} ({kind})" if kind else verdict.failure_label


def _by_handles(pod: RoutedPod) -> Transport:
    assert isinstance(pod.handles, HandleStore)
    return HandleClient(pod.call, pod.handles)


def _play(task: Task, mutation: str, client: Callable[[RoutedPod], Transport]) -> _Played:
    """Play the oracle under one mutation, and detect whether the mutation changed a request or a page."""
    options: dict[str, OptionValue] = {"mutate": mutation, "handles": True}
    spec = EpisodeSpec("mutations", mutation, task, 0, overrides=options)
    with InProcessRuntime().open(spec) as pod:
        routed = RoutedPod(pod, task.family, options)
        said, heard = _Tap(client(routed)), _Tap(pod.call)
        routed.behind(heard)
        SolutionAgent(transport=lambda _: said).play(task, 0, pod, Budget(), Report(agent="oracle"))
        return _Played(pod.finish(), said.bytes != heard.bytes)


class _Tap:
    """A transport that records the targets, headers and pages that pass through it."""

    def __init__(self, transport: Transport) -> None:
        self._send = transport
        self.bytes: list[object] = []

    def __call__(self, request: WireRequest) -> WireResponse:
        answer = self._send(request)
        self.bytes.append((request.target, request.headers, answer.body))
        return answer
