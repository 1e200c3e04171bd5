"""The log is evidence: any byte that changes, goes missing or moves is found."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from worlds.core.errors import LogError
from worlds.core.events import (
    GENESIS,
    Closed,
    EventLog,
    Issued,
    Noted,
    Opened,
    Requested,
    Stopped,
    Waited,
    canonical_json,
    read_log,
)


def opened() -> Opened:
    """A first event."""
    return Opened(
        task_id="t", family="contract", category=None, seed=0, epoch="2031-01-01T00:00:00+00:00", key_digest="0" * 16,
        options={"ttl": 1.5, "mode": "ü"}, budgets={"steps": 3, "virtual_ms": 10_000}, instruction="Do it.\n",
    )  # fmt: skip


def requested(kind: str = "ok") -> Requested:
    """A request."""
    return Requested(
        method="GET", path="/a", target_sha256="a" * 64, body_sha256="b" * 64, status=200, kind=kind,
        detail={"x": [1, 2.5, None]}, issued=(Issued(artifact="token", issued_at=0, expires_at=5),),
    )  # fmt: skip


def whole() -> EventLog:
    """One event of each type."""
    made = EventLog()
    drafts = (opened(), requested(), Waited(ms=7), requested("goal"), Stopped(cause="wall"), Closed(cause="steps"))
    for vt, draft in enumerate(drafts):
        made.append(draft, vt)
    return made


LOG = whole()
DATA = LOG.dump()
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(-1e15, 1e15).filter(lambda x: not 0 < abs(x) < 1e-4) | st.text()
VALUES = st.dictionaries(
    st.text(), st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
)
"""What a log may hold; numbers so small that libraries write them in different ways are left out."""


def relinked(events: list[dict[str, object]]) -> bytes:
    """These events with a fresh, valid chain."""
    previous, lines = GENESIS, []
    for event in events:
        body = {**{k: v for k, v in event.items() if k != "hash"}, "prev": previous}
        previous = hashlib.sha256(canonical_json(body)).hexdigest()
        lines.append(canonical_json({**body, "hash": previous}) + b"\n")
    return b"".join(lines)


def rows() -> list[dict[str, object]]:
    """The log's events as plain data."""
    return [json.loads(line) for line in DATA.splitlines()]


def test_reads_back_what_was_written() -> None:
    """A log file gives the same events."""
    assert LOG.events == read_log(DATA)


def test_chain_is_sha256_of_canonical_json() -> None:
    """Each hash covers the whole event and the hash before it."""
    assert relinked(rows()) == DATA


def test_trace_hash_is_the_last_hash() -> None:
    """The trace hash is the chain's end, or genesis before anything happened."""
    assert (rows()[-1]["hash"], GENESIS) == (LOG.trace_hash, EventLog().trace_hash)


def test_sink_gets_the_same_lines() -> None:
    """What goes to the file as it happens is what a dump says afterwards."""
    lines: list[bytes] = []
    log = EventLog(lines.append)
    log.append(opened(), 0)
    log.append(requested(), 5)

    assert log.dump() == b"".join(lines)


@settings(max_examples=300)
@given(st.data())
def test_any_altered_byte_is_found(data: st.DataObject) -> None:
    """Whichever byte changes to whatever, the log no longer reads."""
    place = data.draw(st.integers(0, len(DATA) - 1))
    byte = data.draw(st.integers(0, 255))
    assume(byte != DATA[place])

    with pytest.raises(LogError):
        read_log(DATA[:place] + bytes([byte]) + DATA[place + 1 :])


def test_truncation_at_every_byte() -> None:
    """Only a cut between two lines leaves a log, and that one has another end."""
    found = []
    for length in range(len(DATA)):
        try:
            found.append(read_log(DATA[:length])[-1].hash)
        except LogError:
            continue

    assert [row["hash"] for row in rows()[:-1]] == found


@pytest.mark.parametrize("first", range(1, 5))
def test_swapped_lines(first: int) -> None:
    """Two lines in the other order break the chain."""
    lines = DATA.splitlines(keepends=True)
    lines[first], lines[first + 1] = lines[first + 1], lines[first]

    with pytest.raises(LogError, match=rf"^line {first + 1} does not follow the line before it$"):
        read_log(b"".join(lines))


@pytest.mark.parametrize("line", range(6))
def test_dropped_line(line: int) -> None:
    """A line that is missing from within is found; a last one is a shorter log."""
    lines = DATA.splitlines(keepends=True)
    del lines[line]
    if line == 5:
        assert len(read_log(b"".join(lines))) == 5
        return
    with pytest.raises(LogError, match=rf"^line {line + 1}"):
        read_log(b"".join(lines))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"type": "note"}, "line 2 is not an event: Input tag 'note' found using 'type'"),
        ({"extra": 1}, "line 2 is not an event: Extra inputs are not permitted"),
        ({"kind": "fine"}, "line 2 is not an event: Input should be 'ok', 'protocol', 'violation', 'goal', 'stray' or 'fault'"),
        ({"seq": 2}, "line 2 does not follow the line before it"),
        ({"seq": "1"}, "line 2 is not canonical JSON"),
        ({"vt": -1}, "line 2 is not an event: Input should be greater than or equal to 0"),
        ({"vt": 10**400}, "line 2 is not an event: Input should be less than or equal to 10000000000000"),
    ],
)  # fmt: skip
def test_well_chained_forgeries(change: dict[str, object], why: str) -> None:
    """A forger who can recompute hashes still has to write what our world writes."""
    events = rows()
    events[1] |= change

    with pytest.raises(LogError) as found:
        read_log(relinked(events))

    assert str(found.value).startswith(why)


def test_second_opened() -> None:
    """Only the first event opens."""
    first = rows()[0]

    with pytest.raises(LogError, match=r"^line 2: the first event, and only it, must be opened$"):
        read_log(relinked([first, {**first, "seq": 1}]))


def test_first_must_be_opened() -> None:
    """A log that begins with anything else is none."""
    with pytest.raises(LogError, match=r"^line 1: the first event, and only it, must be opened$"):
        read_log(relinked([{**rows()[1], "seq": 0}]))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the log is empty"),
        (b"{}", "the log ends in the middle of a line"),
        (b"\n", "line 1 is not an event: Invalid JSON: EOF while parsing a value at line 1 column 0"),
        (b"[]\n", "line 1 is not an event: Input should be an object"),
        (b"{}\n", "line 1 is not an event: Unable to extract tag using discriminator 'type'"),
    ],
)
def test_no_log_at_all(data: bytes, why: str) -> None:
    """Garbage is refused by line."""
    with pytest.raises(LogError) as found:
        read_log(data)

    assert why == str(found.value)


@pytest.mark.parametrize(
    "change", [lambda b: b.replace(b":", b": ", 1), lambda b: b + b"\n", lambda b: b.replace(b"\n", b"\r\n", 1)]
)
def test_other_spelling_of_the_same_json(change: object) -> None:
    """The bytes are part of the evidence, so a log has one spelling."""
    with pytest.raises(LogError):
        read_log(change(DATA))


def test_log_with_a_number_that_json_lacks() -> None:
    """The parser reads more than a log may say."""
    with pytest.raises(LogError, match=r"^line 2: nan is no number that JSON has$"):
        read_log(DATA.replace(b"[1,2.5,null]", b"[1,NaN,null]", 1))


def test_canonical_refuses_infinity() -> None:
    """What JSON cannot say never enters a log."""
    with pytest.raises(ValueError, match=r"^inf is no number that JSON has$"):
        canonical_json({"x": float("inf")})


@pytest.mark.property
@given(VALUES)
def test_canonical_is_the_standard_librarys(value: dict[str, object]) -> None:
    """Sorted keys at every depth, no spaces, UTF-8: any JSON library writes the same bytes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert canonical_json(value) == text.encode()


def test_numbers_are_written_in_one_way() -> None:
    """The bytes of a number are part of every hash after it."""
    numbers = [0.1, -0.0, 1.0, 1e16, 1e22, 1e-5, 5e-324, 123456789.125, 2**64, 10**30]

    assert canonical_json({"x": numbers}) == (
        b'{"x":[0.1,-0.0,1.0,1e+16,1e+22,0.00001,5e-324,123456789.125,18446744073709551616,1000000000000000000000000000000]}'
    )


def test_keys_of_any_kind_are_sorted_as_they_are_written() -> None:
    """A world may count by numbers; what is read back is sorted like any log."""
    log = EventLog()
    log.append(opened(), vt=0)
    log.append(Noted(what="count", data={"by": {10: 1, 9: (2, None), 2: True}}), vt=0)

    assert read_log(log.dump()) == log.events
    assert b'"by":{"10":1,"2":true,"9":[2,null]}' in log.dump()
