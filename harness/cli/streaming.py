"""`harness run --jsonl`: every event of a run as a line of JSON."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from harness.atomic_write import append_to_file, writing
from harness.cli.amounts import spent_by
from harness.errors import Cancelled
from harness.records import Key, Result
from harness.runs.executors.base import Finished, News, Progress
from harness.runs.run import now
from harness.runs.session import WatchedRun
from harness.runs.stream import BegunLine, EndedLine, Totals, line_of
from worlds.core.models import Strict

Watching = Callable[[WatchedRun], AbstractContextManager[Progress]]
STDOUT = "-"


def streamed(watching: Watching, target: str) -> Watching:
    """Return a listener that also appends every event to `target`."""

    @contextmanager
    def both(watched: WatchedRun) -> Iterator[Progress]:
        stream = _Stream(watched, target)
        with watching(watched) as heard, stream.written():

            def tell(news: News) -> None:
                stream.tell(news)
                heard(news)

            yield tell

    return both


class _Stream:
    """The lines of one run."""

    def __init__(self, watched: WatchedRun, target: str) -> None:
        self._watched, self._target, self._began = watched, target, time.monotonic()
        self._results: dict[tuple[str, Key], Result] = {(one.run, one.key): one for one in watched.done}

    @contextmanager
    def written(self) -> Iterator[None]:
        """Write `begun` on entry and `ended` on exit."""
        self._write(BegunLine(at=now(), path=str(self._watched.folder), totals=self._totals()))
        why: Literal["complete", "interrupted", "failed"] = "failed"
        try:
            yield
            why = "complete"
        except (KeyboardInterrupt, Cancelled):
            why = "interrupted"
            raise
        finally:
            self._write(EndedLine(t=self._t(), why=why, totals=self._totals()))

    def tell(self, news: News) -> None:
        if isinstance(news, Finished):
            self._results[news.result.run, news.key] = news.result
        self._write(line_of(news, self._t(), self._totals()))

    def _t(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def _totals(self) -> Totals:
        results = list(self._results.values())
        spent = self._watched.meter.spent
        spent = spent if spent.calls else spent_by(results)
        return Totals(
            planned=self._watched.episodes, done=len(results), succeeded=sum(one.success for one in results),
            ungraded=sum(one.status == "ungraded" for one in results), calls=spent.calls, tokens=spent.tokens,
            cost_usd=spent.cost_usd, unpriced_calls=spent.unpriced,
        )  # fmt: skip

    def _write(self, line: Strict) -> None:
        written = line.model_dump_json().encode() + b"\n"
        if self._target == STDOUT:
            with writing(Path("/dev/stdout")):
                sys.stdout.buffer.write(written)
                sys.stdout.buffer.flush()
            return
        with writing(Path(self._target)):
            append_to_file(Path(self._target), written)
