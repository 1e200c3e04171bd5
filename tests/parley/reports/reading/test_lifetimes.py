"""How long an artifact lived: its own time, cut short by what the log shows to have ended it, and by nothing else."""

from __future__ import annotations

import pytest

from parley.reports.reading import Act, RecordedEpisode, lifetimes, read_episode, rule_told
from parley.reports.viewing.timeline import WIDTH, timeline
from tests.parley.reports.recorded import FORM, Recorded
from worlds.core.events import Issued


def request(
    seq: int, *, issued: tuple[str, int] | None = None, used: str = "", kind: str = "ok", ended: float = 0.0, rule: str = ""
) -> Act:
    """A request of second `seq`; `issued` is an artifact and its last second, `ended` when the refused one had ended."""
    detail = {"resource_id": used, "time_of_attempt": float(seq), "expired_by_seconds": seq - ended} if ended else {}
    made = (Issued(artifact=issued[0], issued_at=seq * 1000, expires_at=issued[1] * 1000),) if issued else ()
    return Act.model_validate(
        {"seq": seq, "at": seq, "what": "request", "told": "GET /", "status": 200, "kind": kind, "detail": detail,
         "rule": rule or None,
         "used": (used,) if used else (), "issued": made}
    )  # fmt: skip


@pytest.fixture
def episode(recorded: Recorded) -> RecordedEpisode:
    """One whose acts a test replaces."""
    return read_episode(recorded.episode("replaced", FORM))


FIRST, SECOND = request(1, issued=("key_0", 90)), request(4, issued=("key_1", 90))
LATE = request(8, used="key_0", kind="violation", ended=4)


@pytest.mark.parametrize(
    ("acts", "end", "ended_by", "is_certain"),
    [
        ((FIRST,), 90, "", True),
        ((FIRST, request(3, used="key_0"), request(5, used="key_0")), 90, "", True),
        ((FIRST, SECOND), 4, "replaced by request 4 at 4 s", False),
        ((FIRST, SECOND, LATE), 4, "replaced by request 4 at 4 s", True),
        ((FIRST, SECOND, request(6, used="key_0")), 90, "its time, though replaced by request 4 at 4 s", True),
        ((FIRST, request(3, issued=("key_1", 90)), LATE), 4, "replaced by request 3 at 3 s and worked until 4 s", True),
        ((FIRST, request(4, used="key_0"), LATE), 4, "used by request 4 at 4 s", True),
        ((FIRST, request(4), LATE), 4, "revoked by request 4 at 4 s", True),
        ((FIRST, LATE), 4, "ended at 4 s", True),
        ((FIRST, request(6, used="key_0", kind="protocol", rule="the key was lost")), 6, "lost at request 6 at 6 s", True),
        ((FIRST, request(92, used="key_0", kind="violation", ended=90)), 90, "", True),
        ((FIRST, request(4, issued=("key_0", 95))), 4, "replaced by request 4 at 4 s", False),
        ((FIRST, request(4, issued=("key_0", 90))), 90, "", True),
        ((request(1, issued=("event_1", 90)), request(4, issued=("event_2", 95))), 90, "", True),
    ],
)
def test_what_ended_an_artifact(
    episode: RecordedEpisode, acts: tuple[Act, ...], end: float, ended_by: str, *, is_certain: bool
) -> None:
    """A refusal gives the moment, a request at that moment the cause; without a refusal a successor is only a sign."""
    life = lifetimes(episode.model_copy(update={"acts": acts}))[0]

    assert (life.end, life.ended_by, life.is_certain) == (end, ended_by, is_certain)


def test_one_that_is_extended_is_the_same_one(episode: RecordedEpisode) -> None:
    """Issued again as of the same moment, its bar goes on, and nothing about it is doubtful."""
    longer = request(4).model_copy(update={"issued": (Issued(artifact="key_0", issued_at=1000, expires_at=99_000),)})
    lives = lifetimes(episode.model_copy(update={"acts": (FIRST, longer)}))

    assert [(one.end, one.ended_by, one.is_certain) for one in lives] == [
        (90, "extended by request 4 at 4 s", True), (99, "", True),
    ]  # fmt: skip


def test_a_rule_says_what_ended_the_token(episode: RecordedEpisode) -> None:
    """A world tells its caller all that may have ended a token; the log tells a reader which it was."""
    broken = next(act for act in episode.acts if act.label)

    assert broken.rule == "field csrf_token was used, replaced or revoked before"
    assert rule_told(broken.rule, broken, lifetimes(episode)) == "field csrf_token was replaced by request 2 at 4 s"
    assert rule_told(broken.rule, broken, ()) == broken.rule


def test_a_bar_ends_with_its_artifact(episode: RecordedEpisode) -> None:
    """The replaced token's bar is short, the one that outlives the drawing is marked, and a use is a mark of its own."""
    drawn = timeline(episode, frozenset())
    assert drawn is not None
    lanes = {lane.name: lane.marks for lane in drawn.lanes}
    bar, use = lanes["csrf_token_0"]
    longer = lanes["csrf_token_1"][0]

    assert (bar.kind, use.kind) == ("window", "use")
    assert bar.x + bar.width < use.x
    assert "until 4 s, replaced by request 2 at 4 s" in bar.told
    assert (bar.is_cut, longer.is_cut, drawn.is_cut) == (False, True, True)
    assert longer.x + longer.width <= WIDTH
