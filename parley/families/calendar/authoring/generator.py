"""Generator of calendar scenarios: parameters, participants, placing of meetings, labels (paper, Appendix A.1 and Table 3).

A scenario is made around a hidden schedule, the witness, so that a solution always exists (specification 3.2 to 3.4). Every
step uses its own random stream, named after the suite, the seed and the step.

1. An agent whose meetings take k cells keeps min(k, errands) cells free outside the witness, so errands can always move. If the
witness moves a prior meeting, the meeting's new cells stay free, and so do all cells of the new meeting in its place. So the
move costs only the prior meeting's own price, and its benefit depends on the errands in other slots.
2. Errand ids ascend with the slots. If they followed the order of filling, as in the published files, the lowest ids of every
calendar would reveal the hidden schedule.
3. Each label is used once. Errands beyond the bank's labels have none, because with two equal labels a leak could be attributed
   to the wrong item.
4. A new meeting never includes all participants of a prior meeting in its way, so moving that meeting needs an agent who does
not take part in the round's meeting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import floor
from typing import Any, TypeVar

from pydantic import Field, FiniteFloat, ValidationError, model_validator

from harness.errors import UsageError
from worlds.calendar.bank import Bank, draw_labels, errand_bank, meeting_bank
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario
from worlds.core.chance import PUBLISHED_KEY, Chance, Stream, key_digest
from worlds.core.models import Strict

SHOWN_BASE = 10
"""Level l is shown to agents as 10^(l-1), and scored as l, so that differences are noticed (paper, section 3, note 1)."""

MAX_LEVEL = 6

HELP = "harness generate calendar --help"


class Parameters(Strict):
    """Parameters of one scenario, described by `harness generate calendar --help`.

    Equal parameters and suite names give equal scenarios.
    """

    seed: int = Field(default=0, ge=0)
    num_agents: int = Field(default=5, ge=2, le=100)
    num_slots: int = Field(default=16, ge=1, le=1000)
    num_meetings: int = Field(default=5, ge=1, le=100)
    participants: int = Field(default=3, ge=2)
    participant_lists: tuple[tuple[int, ...], ...] = ()
    density: FiniteFloat | tuple[FiniteFloat, ...] = 0.8
    pref_level: int = Field(default=1, ge=1, le=MAX_LEVEL)
    """The highest cost level of an errand; 1 is the uniform setting."""

    errand_cost_level: int | None = Field(default=None, ge=1, le=MAX_LEVEL)
    meeting_cost_level: int = Field(default=1, ge=1, le=MAX_LEVEL)
    balanced: bool = False
    """True if each agent has every cost level equally often; otherwise each errand's level is random."""

    force_witness_errand: bool = True
    """True if errands cover the slots of the hidden schedule first, so that the schedule has a cost."""

    blocked: int | tuple[int, ...] = 0
    """Errands that cannot be moved: for an agent of density 1, fewer for others (`blocked_of`), or a count for each agent."""

    duration: int | tuple[int, ...] = 1
    prior_meetings: int = Field(default=0, ge=0, le=100)
    prior_in_the_way: bool = False
    """True if each prior meeting is where the hidden schedule has a new meeting, so that the schedule moves it."""

    @model_validator(mode="after")
    def _consistent(self) -> Parameters:
        self._lengths()
        if self.participants > self.num_agents:
            raise ValueError(f"{self.participants} participants are more than the {self.num_agents} agents")
        for chosen in self.participant_lists:
            if len(chosen) < 2 or len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(self.num_agents)):
                raise ValueError(
                    f"participant list {list(chosen)} must be two or more different agents of 0..{self.num_agents - 1}"
                )
        if self.prior_in_the_way and not 1 <= self.prior_meetings <= self.num_meetings:
            raise ValueError(f"prior meetings in the way are 1..{self.num_meetings}, one for each meeting at most")
        if self.prior_in_the_way and self.participants == self.num_agents:
            raise ValueError("prior meetings in the way need agents outside each meeting")
        if not all(0 <= density <= 1 for density in self.densities):
            raise ValueError("a density lies in 0..1")
        if min(self.durations) < 1 or max(self.durations) > self.num_slots:
            raise ValueError(f"a duration lies in 1..{self.num_slots}, the slots of a calendar")
        if min(self.blocked if isinstance(self.blocked, tuple) else (self.blocked,)) < 0:
            raise ValueError("blocked errands cannot be fewer than 0")
        return self

    @property
    def densities(self) -> tuple[float, ...]:
        """Densities by agent."""
        return self.density if isinstance(self.density, tuple) else (self.density,) * self.num_agents

    @property
    def durations(self) -> tuple[int, ...]:
        """Durations by meeting."""
        return self.duration if isinstance(self.duration, tuple) else (self.duration,) * self.num_meetings

    @property
    def errand_level(self) -> int:
        """The highest cost level of an errand."""
        return self.errand_cost_level or self.pref_level

    @property
    def scale(self) -> dict[int, int]:
        """Scored cost of each shown cost; empty if there is only one level, whose costs are scored as shown."""
        highest = max(self.errand_level, self.meeting_cost_level)
        return {shown(level): level for level in range(1, highest + 1)} if highest > 1 else {}

    def errands_of(self, agent: int, taken: int) -> int:
        """Return the number of errands of an agent whose meetings, new and prior, take `taken` cells.

        The number is floor(slots x density), the paper's rule, limited so that the agent's meetings fit: with 16 slots and
        three meetings, densities 0.6, 0.8 and 1.0 give 9, 12 and 13.
        """
        return max(0, min(floor(self.num_slots * _exact(self.densities[agent])), self.num_slots - taken))

    def blocked_of(self, agent: int) -> int:
        """Return the number of blocked errands: n x density^2, at least one if n > 0 (2, 4, 6 for n = 6 at 0.6, 0.8, 1.0)."""
        if isinstance(self.blocked, tuple):
            return self.blocked[agent]
        if self.blocked == 0:
            return 0
        return max(1, floor(self.blocked * _exact(self.densities[agent]) ** 2 + Fraction(1, 2)))

    def _lengths(self) -> None:
        """Raise ValueError for a list without an entry for each agent, or for each meeting."""
        listed = {
            "density": (self.density, self.num_agents, "agents"),
            "blocked": (self.blocked, self.num_agents, "agents"),
            "duration": (self.duration, self.num_meetings, "meetings"),
            "participant_lists": (self.participant_lists or 0, self.num_meetings, "meetings"),
        }
        for name, (value, count, what) in listed.items():
            if isinstance(value, tuple) and len(value) != count:
                raise ValueError(f"{name} lists {len(value)} values for {count} {what}")


def shown(level: int) -> int:
    """Return the cost shown to agents for a cost level."""
    return int(SHOWN_BASE ** (level - 1))


def parameters(**values: Any) -> Parameters:
    """Return checked parameters. Raises UsageError naming the broken rule."""
    try:
        return Parameters.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        what = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{where}: {what}, not {first['input']!r}" if where else what, hint=HELP) from None


def _exact(density: float) -> Fraction:
    """Return the number exactly as written: 0.29 of 100 slots are 29, not 28."""
    return Fraction(str(density))


Sets = list[tuple[int, ...]]

ROTATION_TRIES = 20
"""Maximum number of redraws if a set of participants is repeated."""


def rotation(agents: int, size: int, count: int, stream: Stream) -> Sets:
    """Return `count` ascending sets of `size` agents, balanced over agents, with as few repeated sets as possible."""
    best = _sets(agents, size, count, stream)
    for _ in range(ROTATION_TRIES):
        _exchange(best, stream)
        if repeated(best) == 0 or size == agents:
            break
        other = _sets(agents, size, count, stream)
        _exchange(other, stream)
        best = min(best, other, key=repeated)
    return best


def repeated(sets: Sequence[Sequence[int]]) -> int:
    """Return the number of sets that are equal to an earlier one."""
    return len(sets) - len({tuple(one) for one in sets})


def speakers(sets: Sequence[Sequence[int]], stream: Stream) -> Sets:
    """Return the participants of each meeting in the order in which they speak."""
    first = _first_speakers(sets, stream)
    orders: Sets = []
    for opener, chosen in zip(first, sets, strict=True):
        others = [agent for agent in chosen if agent != opener]
        stream.shuffle(others)
        orders.append((opener, *others))
    return orders


def _sets(agents: int, size: int, count: int, stream: Stream) -> Sets:
    least, extra = divmod(size * count, agents)
    more = set(stream.sample(range(agents), extra))
    open_ = {agent: least + (agent in more) for agent in range(agents)}
    sets: Sets = []
    for left in range(count, 0, -1):
        must = [agent for agent in open_ if open_[agent] == left]
        may = [agent for agent in open_ if 0 < open_[agent] < left]
        chosen = (*must, *stream.sample(may, size - len(must)))
        for agent in chosen:
            open_[agent] -= 1
        sets.append(tuple(sorted(chosen)))
    return sets


def _exchange(sets: Sets, stream: Stream) -> None:
    """Change `sets` in place: a repeated set swaps a member with another set if that makes two new sets."""
    for place, one in enumerate(sets):
        counts = Counter(sets)
        if counts[one] == 1:
            continue
        others = list(range(len(sets)))
        stream.shuffle(others)
        swaps = (
            (other, _swapped(one, leaves, enters), _swapped(sets[other], enters, leaves))
            for other in others
            for leaves, enters in product(one, sets[other])
            if leaves not in sets[other] and enters not in one
        )
        swap = next(((o, a, b) for o, a, b in swaps if counts[a] == counts[b] == 0 and a != b), None)
        if swap is not None:
            other, mine, theirs = swap
            sets[place], sets[other] = mine, theirs


def _swapped(one: tuple[int, ...], leaves: int, enters: int) -> tuple[int, ...]:
    return tuple(sorted({*one} - {leaves} | {enters}))


def _first_speakers(sets: Sequence[Sequence[int]], stream: Stream) -> list[int]:
    """Return first speakers by Kuhn's matching, with a limit per agent that is raised until all meetings have a speaker."""
    openers: dict[int, int] = {}
    order = list(range(len(sets)))
    stream.shuffle(order)
    preferences = [stream.sample(list(chosen), len(chosen)) for chosen in sets]

    def settle(meeting: int, ceiling: int, seen: set[int]) -> bool:
        for agent in preferences[meeting]:
            if agent in seen:
                continue
            seen.add(agent)
            held = [other for other, opener in openers.items() if opener == agent]
            if len(held) < ceiling or any(settle(other, ceiling, seen) for other in held):
                openers[meeting] = agent
                return True
        return False

    for ceiling in range(1, len(sets) + 1):
        order = [meeting for meeting in order if not settle(meeting, ceiling, set())]
    return [openers[meeting] for meeting in range(len(sets))]


Labelled = TypeVar("Labelled", Errand, Meeting)


def labelled(scenario: Scenario, chance: Chance) -> Scenario:
    """Return a scenario with labels and their ids added, drawn from our own bank."""
    every = [errand for mine in scenario.errands for errand in mine]
    named = iter(_dealt(every, errand_bank(), chance("labels of errands")))
    every_meeting = [*scenario.meetings, *scenario.prior]
    called = _dealt(every_meeting, meeting_bank(), chance("labels of meetings"))
    count = len(scenario.meetings)
    update: dict[str, Any] = {
        "errands": tuple(tuple(next(named) for _ in mine) for mine in scenario.errands),
        "meetings": tuple(called[:count]),
        "prior": tuple(called[count:]),
    }
    return scenario.model_copy(update=update)


def _dealt(items: list[Labelled], bank: Bank, stream: Stream) -> list[Labelled]:
    """Return the items in their order, each with a different label as long as there are labels."""
    count = min(len(items), len(bank.items))
    entries = draw_labels(stream, bank, count)
    places = range(count) if count == len(items) else sorted(stream.sample(range(len(items)), count))
    by_place = dict(zip(places, entries, strict=True))
    return [
        item.model_copy(update={"label": by_place[place].private_label, "label_id": by_place[place].label_id})
        if place in by_place
        else item
        for place, item in enumerate(items)
    ]


TRIES = 200
"""Maximum number of restarts if a meeting finds no slot."""

Cells = list[set[int]]
"""The cells taken by meetings, by agent."""


def take_slot(slots: int, who: Sequence[int], duration: int, taken: Cells, stream: Stream) -> int | None:
    """Take a random slot in which the participants of a meeting have no other meeting; return None if there is none."""
    busy = set().union(*(taken[agent] for agent in who))
    starts = [start for start in range(slots - duration + 1) if busy.isdisjoint(range(start, start + duration))]
    if not starts:
        return None
    slot = stream.choice(starts)
    for agent in who:
        taken[agent].update(range(slot, slot + duration))
    return slot


GENERATOR = "parley/1"
"""Version of the generator; must be changed whenever a seed gives another scenario than before."""

Placed = tuple[tuple[PriorMeeting, ...], dict[int, int]]
"""Prior meetings with their slots, and the witness."""


@dataclass(frozen=True)
class Edition:
    """The source of random streams: a suite's name, and the published key or a private one for a held-out edition."""

    suite: str
    key: str = PUBLISHED_KEY

    def chance(self, seed: int) -> Chance:
        """Return the streams of one scenario."""
        return Chance(self.key, f"calendar/{self.suite}", seed)


def generate(chosen: Parameters, edition: Edition) -> Scenario:
    """Return one scenario with labels. Raises UsageError if the parameters leave no room for it."""
    return labelled(draft(chosen, edition), edition.chance(chosen.seed))


def draft(chosen: Parameters, edition: Edition) -> Scenario:
    """Return one scenario without labels, which is sufficient to compute its difficulty."""
    chance = edition.chance(chosen.seed)
    meetings = _meetings(chosen, chance)
    prior, witness = _placed(chosen, meetings, chance)
    standing, planned = _cells(chosen, prior, {one.id: one.slot for one in prior}), _cells(chosen, meetings, witness)
    spared = _spared(chosen, meetings, prior, witness)
    errands = tuple(
        _errands(chosen, agent, planned[agent], standing[agent], spared[agent], chance) for agent in range(chosen.num_agents)
    )
    return Scenario(
        slots=chosen.num_slots,
        errands=errands,
        meetings=meetings,
        prior=prior,
        scale=chosen.scale,
        witness=witness,
        origin=_origin(chosen, edition, meetings),
    )


def _origin(chosen: Parameters, edition: Edition, meetings: Sequence[Meeting]) -> dict[str, Any]:
    """Return the data for generating the scenario again, and the number of repeated sets of participants."""
    origin: dict[str, Any] = {"generator": GENERATOR, "suite": edition.suite}
    if edition.key != PUBLISHED_KEY:
        origin["key"] = key_digest(edition.key)
    if again := repeated([meeting.participants for meeting in meetings]):
        origin["repeated_participant_sets"] = again
    # scenarios made before this parameter existed do not record it
    left_out = set() if chosen.prior_in_the_way else {"prior_in_the_way"}
    return {**origin, "parameters": chosen.model_dump(mode="json", exclude=left_out)}


def _meetings(chosen: Parameters, chance: Chance) -> tuple[Meeting, ...]:
    count, agents = chosen.num_meetings, chosen.num_agents
    listed = [tuple(sorted(one)) for one in chosen.participant_lists]
    sets = listed or rotation(agents, chosen.participants, count, chance("participants"))
    orders = speakers(sets, chance("speakers"))
    costs = drawn(count, chosen.meeting_cost_level, chance("costs of meetings"))
    rows = enumerate(zip(sets, orders, chosen.durations, costs, strict=True), start=1)
    return tuple(
        Meeting(id=number, participants=who, speakers=order, duration=duration, cost=cost)
        for number, (who, order, duration, cost) in rows
    )


def _placed(chosen: Parameters, meetings: Sequence[Meeting], chance: Chance) -> Placed:
    """Return prior meetings with their slots, and the witness."""
    place = _placed_in_the_way if chosen.prior_in_the_way else _placed_by_chance
    for _ in range(TRIES):
        made = place(chosen, meetings, chance)
        if made is not None:
            return made
    how = " with somebody outside each meeting" if chosen.prior_in_the_way else ""
    raise UsageError(
        f"{len(meetings)} meetings and {chosen.prior_meetings} prior ones do not fit into {chosen.num_slots} slots{how}",
        hint="harness generate calendar with more --slots, or fewer --meetings",
    )


def _placed_by_chance(chosen: Parameters, meetings: Sequence[Meeting], chance: Chance) -> Placed | None:
    """Return prior meetings and a witness around them; None if a meeting finds no slot."""
    taken: Cells = [set() for _ in range(chosen.num_agents)]
    prior = _prior(chosen, taken, chance("prior meetings"))
    witness = _witness(chosen, meetings, taken, chance)
    return None if prior is None or witness is None else (prior, witness)


def _placed_in_the_way(chosen: Parameters, meetings: Sequence[Meeting], chance: Chance) -> Placed | None:
    """Return prior meetings and a witness that moves each of them; None if a meeting finds no participants or no slot."""
    taken: Cells = [set() for _ in range(chosen.num_agents)]
    standing: Cells = [set() for _ in taken]
    witness = _witness(chosen, meetings, taken, chance)
    if witness is None:
        return None
    count, stream = chosen.prior_meetings, chance("prior meetings")
    made: list[tuple[tuple[int, ...], int, int]] = []
    for meeting in stream.sample(meetings, count):
        stands = witness[meeting.id]
        elsewhere = {agent for agent, mine in enumerate(taken) if stands in mine and agent not in meeting.participants}
        there = {agent for agent, mine in enumerate(standing) if stands in mine}
        who = _participants(chosen, meeting, meetings, elsewhere | there, stream)
        if who is None:
            return None
        for agent in who:
            standing[agent].add(stands)
        # the new slot is also free at the beginning, so that the prior meeting can move immediately
        both = [mine | theirs for mine, theirs in zip(taken, standing, strict=True)]
        moves_to = take_slot(chosen.num_slots, who, 1, both, stream)
        if moves_to is None:
            return None
        for agent in who:
            taken[agent].add(moves_to)
        made.append((who, stands, moves_to))
    costs = drawn(count, chosen.meeting_cost_level, chance("costs of prior meetings"))
    prior = tuple(
        PriorMeeting(id=number, participants=who, cost=cost, slot=stands)
        for number, ((who, stands, _), cost) in enumerate(zip(made, costs, strict=True), start=len(meetings) + 1)
    )
    return prior, witness | {one.id: moves_to for one, (_, _, moves_to) in zip(prior, made, strict=True)}


def _participants(
    chosen: Parameters, meeting: Meeting, meetings: Sequence[Meeting], busy: set[int], stream: Stream
) -> tuple[int, ...] | None:
    """Return free agents, at least one from the meeting, and not all from the same meeting; None if there are none."""
    inside = [agent for agent in meeting.participants if agent not in busy]
    able = [agent for agent in range(chosen.num_agents) if agent not in busy]
    if not inside or len(able) < chosen.participants:
        return None
    for _ in range(TRIES):
        first = stream.choice(inside)
        who = {first, *stream.sample([agent for agent in able if agent != first], chosen.participants - 1)}
        if not any(who <= set(other.participants) for other in meetings):
            return tuple(sorted(who))
    return None


def _witness(chosen: Parameters, meetings: Sequence[Meeting], taken: Cells, chance: Chance) -> dict[int, int] | None:
    """Return a slot for each meeting; None if some meeting has no slot."""
    slots = [take_slot(chosen.num_slots, one.participants, one.duration, taken, chance("witness")) for one in meetings]
    return None if None in slots else {one.id: slot for one, slot in zip(meetings, slots, strict=True) if slot is not None}


def _prior(chosen: Parameters, taken: Cells, stream: Stream) -> tuple[PriorMeeting, ...] | None:
    """Return prior meetings of one slot, with random participants and slots; None if one finds no slot."""
    made: list[PriorMeeting] = []
    for number in range(chosen.num_meetings + 1, chosen.num_meetings + chosen.prior_meetings + 1):
        who = tuple(sorted(stream.sample(range(chosen.num_agents), chosen.participants)))
        (cost,) = drawn(1, chosen.meeting_cost_level, stream)
        slot = take_slot(chosen.num_slots, who, 1, taken, stream)
        if slot is None:
            return None
        made.append(PriorMeeting(id=number, participants=who, cost=cost, slot=slot))
    return tuple(made)


def _cells(chosen: Parameters, meetings: Sequence[Meeting], slots: Mapping[int, int]) -> Cells:
    """Return the cells that these meetings take in each agent's calendar."""
    cells: Cells = [set() for _ in range(chosen.num_agents)]
    for meeting in meetings:
        for agent in meeting.participants:
            cells[agent].update(range(slots[meeting.id], slots[meeting.id] + meeting.duration))
    return cells


def _spared(
    chosen: Parameters, meetings: Sequence[Meeting], prior: Sequence[PriorMeeting], witness: Mapping[int, int]
) -> Cells:
    """Return, by agent, the new cells of prior meetings that the witness moves, and those of the meetings in their place."""
    moved = [one for one in prior if one.id in witness]
    left = {one.slot for one in moved}
    taking = [one for one in meetings if not left.isdisjoint(range(witness[one.id], witness[one.id] + one.duration))]
    cells = _cells(chosen, [*moved, *taking], witness)
    for one in moved:
        for agent in one.participants:
            cells[agent].discard(one.slot)
    return cells


def _errands(
    chosen: Parameters, agent: int, witness: set[int], standing: set[int], spared: set[int], chance: Chance
) -> tuple[Errand, ...]:
    """Return one agent's errands, in order of slots."""
    count = chosen.errands_of(agent, max(len(witness), len(spared)) + len(standing))
    free = max(0, min(len(witness), count) - len(spared))
    slots = _filled(chosen, agent, count, free, witness - standing - spared, witness | standing | spared, chance)
    rule = balanced if chosen.balanced else drawn
    costs = rule(count, chosen.errand_level, chance(f"costs of errands {agent}"))
    blocked = _blocked(chosen, agent, [slot for slot in slots if slot not in witness], chance)
    first = agent * chosen.num_slots + 1
    return tuple(
        Errand(slot=slot, id=first + place, cost=cost, blocked=slot in blocked)
        for place, (slot, cost) in enumerate(zip(slots, costs, strict=True))
    )


def _filled(
    chosen: Parameters, agent: int, count: int, free: int, first: set[int], taken: set[int], chance: Chance
) -> list[int]:
    """Return the cells that hold errands, ascending: those in `first`, then others not taken, leaving `free` of them."""
    others = [slot for slot in range(chosen.num_slots) if slot not in taken]
    kept = set(chance(f"free cells {agent}").sample(others, free))
    fillable = [slot for slot in others if slot not in kept]
    stream = chance(f"errands {agent}")
    if not chosen.force_witness_errand:
        return sorted(stream.sample(sorted([*fillable, *first]), count))
    covered = sorted(first)[:count]
    return sorted([*covered, *stream.sample(fillable, count - len(covered))])


def _blocked(chosen: Parameters, agent: int, slots: Sequence[int], chance: Chance) -> set[int]:
    """Return the slots of errands off the witness that cannot be moved. Raises UsageError if there are too few of them."""
    count = chosen.blocked_of(agent)
    if count > len(slots):
        raise UsageError(
            f"agent {agent} has {len(slots)} errands off the hidden schedule, so {count} (--blocked at its density) cannot be "
            f"blocked; 0 to {len(slots)} can",
            hint="harness generate calendar with a lower --blocked, a higher --density or more --slots",
        )
    return set(chance(f"blocked {agent}").sample(slots, count))


def drawn(count: int, level: int, stream: Stream) -> list[int]:
    """Return `count` shown costs with random levels, uniform in 1..`level` (paper, Appendix A.1 step 4)."""
    return [shown(stream.between(1, level)) for _ in range(count)]


def balanced(count: int, level: int, stream: Stream) -> list[int]:
    """Return `count` shown costs in random order, with equally many of each level; the lowest levels may have one more."""
    costs = [shown(place % level + 1) for place in range(count)]
    stream.shuffle(costs)
    return costs
