"""What `harness show` says of a hidden-profile episode: hands, votes, talk and key, with one number for each person."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from harness.agent import AgentSpec
from harness.paths import ROOT
from harness.records import RunFolder
from harness.registry import discover, select
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.families.hidden_profile.reading import sections
from parley.reports.reading import RecordedEpisode, Section, episode_lines, read_episode
from worlds.core.events import Event, Noted, Turned

pytestmark = pytest.mark.property

PLATE, COOK = "ferry-street-plate", "cook-for-the-long-winter"
PLAYED: dict[str, tuple[str, str, int, dict[str, str]]] = {
    "pool": (PLATE, "pool", 0, {"track": "structured"}),
    "conform": (PLATE, "conform", 0, {"track": "structured"}),
    "withhold": (COOK, "withhold:2", 0, {}),
    "manifest": (PLATE, "silent", 1, {"reveal_all": "true"}),
    "polled": (PLATE, "pool", 0, {"stance_poll": "true"}),
    "full": (PLATE, "pool", 0, {"condition": "full"}),
}
"""Name -> task, group, seed, options."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each of PLAYED, of two rounds, in process."""
    root, found = tmp_path_factory.mktemp("runs"), {}
    for name, (task, group, seed, options) in PLAYED.items():
        tasks = select(discover(ROOT / "tasks"), [task])
        plan = Plan(name, tasks, [seed], 1, AgentSpec(kind="seats", name=group), overrides={"rounds": "2", **options})
        folder = RunFolder(root / name)
        (result,) = run_plan(plan, InProcessRuntime(), folder, workers=1, images={}, progress=lambda event: None)
        found[name] = Path(result.path)
    return found


def table(episode: RecordedEpisode, title: str) -> Section:
    """One section."""
    return next(section for section in episode.sections if section.title == title)


def test_the_order_is_that_of_the_session(folders: dict[str, Path]) -> None:
    """Who is who, what each holds, first votes, talk, last votes."""
    for folder in folders.values():
        titles = [section.title for section in read_episode(folder).sections]
        assert titles == ["People", "Hands", "First votes", "Talk", "Last votes"]


def test_the_number_of_a_person_is_that_of_its_prompts(folders: dict[str, Path]) -> None:
    """Every turn of talk stands under the number that the speaker's own rules give it, and so does every hand."""
    episode = read_episode(folders["pool"])
    spoken = [event for event in episode.events if isinstance(event, Turned) and event.phase == "DISCUSSION"]
    prompts = {one.seat: one.utterances[0].text for one in episode.conversations if one.seat is not None}
    numbers = {seat: int(re.findall(r"You are Person (\d+)", text)[0]) for seat, text in prompts.items()}

    assert [row[2] for row in table(episode, "Talk").rows if row[0]] == [numbers[event.seat] for event in spoken]
    assert [row[:2] for row in table(episode, "People").rows] == [(number, seat) for seat, number in numbers.items()]
    for who, _, _, _, words in table(episode, "Hands").rows:
        holders = [number for seat, number in numbers.items() if str(words) in prompts[seat]]
        assert who == ("all" if len(holders) == len(numbers) else ", ".join(map(str, holders)))
    assert {one.name for one in episode.conversations if one.seat is not None} == {
        f"Person {number} (seat {seat})" for seat, number in numbers.items()
    }


def test_a_fact_is_marked_where_it_first_came_to_light(folders: dict[str, Path]) -> None:
    """In the hands with turn and person, in the talk at that turn; what nobody told is told to be so."""
    episode = read_episode(folders["withhold"])
    first = {row[1]: row[3] for row in table(episode, "Hands").rows if row[2] == "private"}
    marked = {
        fact: f"turn {turn}, Person {person}"
        for turn, _, person, new, _ in table(episode, "Talk").rows
        for fact in str(new or "").split()
    }

    assert marked
    assert {fact: told for fact, told in first.items() if told != "never"} == marked
    assert {fact for fact, told in first.items() if told == "never"} == {"u2", "u3", "u7", "u9"}
    assert {row[3] for row in table(episode, "Hands").rows if row[2] != "private"} == {None}


def test_the_moment_of_consensus_stands_in_the_talk(folders: dict[str, Path]) -> None:
    """Poolers agree on the key after round 2, conformists on a wrong option after round 1; else nobody knows."""
    pool, conform, withhold = (table(read_episode(folders[name]), "Talk") for name in ("pool", "conform", "withhold"))
    agreed = {name: [row for row in one.rows if row[0] is None] for name, one in (("pool", pool), ("conform", conform))}

    assert agreed["pool"] == [(None, 2, "all", "y1914", None, "(now all stand for [y1914], the key)")]
    assert pool.rows[-1] == agreed["pool"][0]
    ((_, number, _, _, _, words),) = agreed["conform"]
    assert (number, conform.rows[5]) == (1, agreed["conform"][0])
    assert words == "(now all stand for [y1903], not the key; somebody still lacked a fact that the proof needs)"
    assert withhold.notes == ("No stances were taken, so it is not known when the group agreed.",)


def test_polls_stand_after_their_round(folders: dict[str, Path]) -> None:
    """Where everybody was asked alone, the answers close the round, and the consensus that they make follows."""
    talk = table(read_episode(folders["polled"]), "Talk")
    after = [row for row in talk.rows if row[0] is None]

    assert {len(row) for row in talk.rows} == {len(talk.columns)} == {5}
    assert [row[1] for row in after][:2] == [1, 1]
    assert re.fullmatch(r"\(asked alone where they stand: Person 1 for \[\w+\], 2 for .*\)", str(after[0][-1]))
    assert [row[-1] for row in after if "now all" in str(row[-1])] == ["(now all stand for [y1914], the key)"]
    assert talk.notes == ()


def test_last_votes_end_with_the_key(folders: dict[str, Path]) -> None:
    """Who was right and who could have known, and what was right in which kind of deal."""
    withheld, manifest = (table(read_episode(folders[name]), "Last votes") for name in ("withhold", "manifest"))

    assert [row[:4] for row in withheld.rows] == [
        (1, False, False, "[priya] Priya Raman"),
        (2, False, False, "[priya] Priya Raman"),
        (3, True, True, "[lukas] Lukas Brandt"),
    ]
    assert withheld.notes == (
        "The right option is [lukas] Lukas Brandt; the shared facts favour [priya] Priya Raman, a hidden deal.",
        "1 of 3 are right; 60 % of the private facts were told.",
    )
    assert (
        manifest.notes[0]
        == "The right option is [y1903] Summer 1903; the shared facts favour this option too: a manifest deal."
    )


def test_what_was_read_out_and_what_all_hold(folders: dict[str, Path]) -> None:
    """Facts that were read out before the talk have no turn; with full information every fact is everybody's."""
    manifest, full = (read_episode(folders[name]) for name in ("manifest", "full"))

    assert {row[3] for row in table(manifest, "Hands").rows if row[2] == "private"} == {"read out"}
    assert str(table(manifest, "Talk").rows[0][-1]).startswith("(read out before the talk: Person 1: ")
    assert {row[0] for row in table(full, "Hands").rows} == {"all"}
    assert {row[3] for row in table(full, "People").rows} == {"nothing"}


def test_an_episode_that_nobody_judged_has_no_marks(folders: dict[str, Path], tmp_path: Path) -> None:
    """Without a verdict the transcript stands, and says that it has no marks."""
    folder = tmp_path / "s0-a1"
    shutil.copytree(folders["pool"], folder)
    (folder / "verdict.json").unlink()
    episode = read_episode(folder)

    assert {row[4] for row in table(episode, "Talk").rows} == {None}
    assert {row[3] for row in table(episode, "Hands").rows} == {None}
    assert table(episode, "Talk").notes == ("The episode was not judged, so no turn is marked with the facts that it told.",)


def nonsense(event: Event) -> Event:
    """A first note that lacks the last hand, and votes for an option that there is not."""
    if not isinstance(event, Noted) or event.what not in {"session_start", "vote"}:
        return event
    changed = {"hands": event.data["hands"][:-1]} if event.what == "session_start" else {"option": "nowhere"}
    return event.model_copy(update={"data": {**event.data, **changed}})


def test_a_log_of_nonsense_is_read_all_the_same(folders: dict[str, Path]) -> None:
    """A vote for what is no option, and a seat without a hand, are shown as they stand."""
    episode = read_episode(folders["pool"])
    people, _, first, *_ = sections(episode.model_copy(update={"events": tuple(map(nonsense, episode.events))}))

    assert people.rows[-1][3] == "nothing"
    assert {row[2] for row in first.rows} == {"[nowhere]"}


@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_a_terminal(folders: dict[str, Path], width: int) -> None:
    """No line is longer than the terminal, and the words of the talk have at least a third of it."""
    for folder in folders.values():
        lines = [line for line in episode_lines(read_episode(folder), width) if str(folder) not in line]
        head = lines[lines.index("Talk") + 2]
        assert max(map(len, lines)) <= width
        assert head.endswith("said")
        assert width - head.index("said") >= width / 3
