"""Session of a hidden-profile task: dealing, texts for seats, talk, and votes (docs/hidden-profile.md, "A session").

1. Talk is strictly in turn. In the first round a speaker reads the messages before it, later the latest message of each other
seat, oldest first; a seat's own conversation contains everything earlier.
2. A chat has no rounds: the first message is heard first, and each message withdraws the turns of the others, who are asked
again at once. A reply of PASS says nothing. A seat that forfeits has left; a `timeout` closes the chat for all.
3. On the structured track a message is text, cited facts, and a stance. Unknown handles are dropped and noted.

A seat is shown the brief, its own facts, the options, and the messages. Texts never receive another seat's facts, the key, a
weight, a rule's formal side, another seat's vote, or the rationale of an imported task, so these cannot leak. Every draw has a
stream of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from worlds.core.chance import Chance
from worlds.core.mending import mend
from worlds.core.replies import quote_message
from worlds.core.texts import Texts
from worlds.core.turns import Answer, Answers, Ask, Game
from worlds.hidden_profile.options import COLLECTED, STRUCTURES, variant_sentence
from worlds.hidden_profile.rules.ballot import (
    Ballot,
    chat_text,
    find_option,
    notice_line,
    publish_message,
    read_ballot,
    read_handles,
    read_message,
    refusal_text,
    split_board,
)
from worlds.hidden_profile.rules.deck import KINDS, Draw, Draws
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.settings import Settings


@dataclass(frozen=True, slots=True)
class Deal:
    """One session's deal; seats count from 0."""

    people: tuple[int, ...]
    """For each seat, the number (from 1) of its hand in the scenario."""

    hands: tuple[tuple[str, ...], ...]
    """For each seat, the ids of its facts, in the order shown."""

    options: tuple[str, ...]
    """Option ids, in the order shown."""


def draw_deal(draws: Draws, how: str, chance: Chance, seed: int) -> Draw:
    """Draw a seed's deal; `how` is hidden, manifest or mixed.

    Seed 0 is a hidden deal in any mixture, because it is the only seed that other harnesses run. Every M hidden deals in a row
    have M different keys, in drawn order, so that few seeds are even too.
    """
    turned = chance.paired("kind").below(2) if seed > 1 else 0
    kind = next((kind for kind in KINDS if kind == how), KINDS[(seed + turned) % 2])
    known = [draw for draw in draws.of_kind(kind) for _ in range(draw.times)]
    if kind == "hidden":
        keys = list(dict.fromkeys(draw.key for draw in known))
        every = 1 if how == kind else 2
        chance.paired("key", every * len(keys)).shuffle(keys)
        known = [draw for draw in known if draw.key == keys[seed // every % len(keys)]]
    return chance("draw").choice(known)


def deal_session(scenario: Scenario, condition: str, chance: Chance) -> Deal:
    """Deal one session."""
    people = list(scenario.seats)
    chance("deal").shuffle(people)
    hands = [list(scenario.facts_dealt_to(person, condition)) for person in people]
    for seat, hand in enumerate(hands):
        chance(f"order:{seat}").shuffle(hand)
    options = list(scenario.option_ids)
    chance("options").shuffle(options)
    return Deal(tuple(people), tuple(tuple(hand) for hand in hands), tuple(options))


Said = tuple[int, str]
"""Seat and text of one message."""


_SHOWN = (
    "rounds", "talk", "minutes", "structure", "track", "horizon", "heard", "vote_view", "exchange_decide", "exchanging",
    "reveal_all", "variant",
)  # fmt: skip
"""Settings of a session that its texts may name."""


class SessionView:
    """The texts of one session."""

    def __init__(self, scenario: Scenario, settings: Settings, dealt: Deal, texts: Texts) -> None:
        self._scenario, self._settings, self._dealt, self._texts = scenario, settings, dealt, texts
        self.board = ""
        self.is_collected = False
        """True once all seats have passed in a round of a round robin."""

        self._topics = {seat: topic for seat in range(scenario.agents) if (topic := self._topic(seat))}

    def system(self, seat: int) -> str:
        """Return the rules of a seat, with its facts."""
        facts = [self._scenario.by_id[fact].text for fact in self._dealt.hands[seat]]
        return self._render("system", seat, brief=self._scenario.brief, facts=facts)

    def turn(self, seat: int, number: int, said: Sequence[Said], reminder: str = "") -> str:
        """Return the text of a turn of talk; `said` is what this seat reads, `reminder` its own first vote or ""."""
        return self._render("turn", seat, number=number, said=_lines(said), reminder=reminder)

    def ask(self, name: Literal["pre_vote", "chat", "poll", "post_vote"], seat: int, said: Sequence[Said] = ()) -> str:
        """Return the text of any other turn; `said` are the messages that it shows."""
        return self._render(name, seat, said=_lines(said))

    def repeat_vote(self, given: str, problem: str) -> str:
        """Return the question that repeats an invalid vote; `problem` is the reason why it was not read, if known."""
        return refusal_text(problem) + self._render("again", None, given=given[:80])

    def _render(self, name: str, seat: int | None, **values: Any) -> str:
        """Render a text for one seat, or for any; `placeholders` lists its variables."""
        shown = {one: getattr(self._settings, one) for one in _SHOWN}
        shown["stakes"] = self._settings.stakes == "told" or (self._settings.stakes == "paper" and self._scenario.tells_stakes)
        if seat is not None:
            values |= {"person": seat + 1}
        options = [(option, self._scenario.label(option)) for option in self._dealt.options]
        structure = COLLECTED if self.is_collected else STRUCTURES[self._settings.structure].format(**shown)
        extra = " ".join(filter(None, (variant_sentence(self._settings.variant, seat or 0, self._topics), structure)))
        shown |= {"options": options, "extra": extra, "board": quote_message(self.board)}
        return self._texts.render(name, people=self._scenario.agents, **shown, **values)

    def _topic(self, seat: int) -> str:
        """Return the label of the option that a seat's own facts concern most, for expert roles; "" if there is none."""
        own = [self._scenario.by_id[fact] for fact in self._dealt.hands[seat] if self._scenario.by_id[fact].scope == "private"]
        touched = [option for fact in own for option in fact.about]
        return self._scenario.label(max(self._dealt.options, key=touched.count)) if touched else ""


def _lines(said: Sequence[Said]) -> list[Said]:
    """Return messages in the form in which they are shown, with the numbers of their speakers."""
    return [(seat + 1, quote_message(text)) for seat, text in said]


Voting = Generator[Sequence[Ask], Answers, dict[int, Ballot]]
Polling = Generator[Sequence[Ask], Answers, None]
Chatting = Generator[Sequence[Ask], Answers, None]
Talking = Generator[Sequence[Ask], Answers, bool]


MAX_MESSAGES = 200
"""Maximum number of messages of one seat in a chat; the paper's groups of people sent 53 on average."""


@dataclass
class GroupSession:
    """One session; `note(what, seat, **data)` logs events, `spend(cost)` advances virtual time."""

    scenario: Scenario
    settings: Settings
    dealt: Deal
    note: Callable[..., None]
    spend: Callable[[str], None]
    texts: Texts
    messages: list[Said] = field(default_factory=list)
    public: dict[str, str] = field(default_factory=dict)
    """Handle that all seats know -> fact, on the structured track."""

    stances: dict[int, str] = field(default_factory=dict)
    _notices: dict[int, str] = field(default_factory=dict)
    """For each seat, the line on the part of its last reply in talk that was not read."""

    last_round: int = 0
    """Number of messages before the current round."""

    def __post_init__(self) -> None:
        self.view = SessionView(self.scenario, self.settings, self.dealt, self.texts)

    @property
    def seats(self) -> range:
        """The seats, from 0."""
        return range(self.scenario.agents)

    def play(self) -> Game:
        """Run both votes and the talk between them."""
        ballots = yield from self._vote("PRE_VOTE", partial(self.view.ask, "pre_vote"))
        if self.settings.reveal_all:
            self._reveal()
        if self.settings.talk == "chat":
            yield from self._chat()
        else:
            yield from self._rounds(ballots)
        notices = self._notices
        said = self._repeated()
        yield from self._vote("POST_VOTE", lambda seat: notices.get(seat, "") + self.view.ask("post_vote", seat, said))
        self.note("session_end")

    def _rounds(self, ballots: dict[int, Ballot]) -> Polling:
        """Run all rounds of talk, or stop early once nothing changes any more."""
        for number in range(1, self.settings.rounds + 1):
            settled = yield from self._round(number, ballots)
            if self.settings.stance_poll and number > self.settings.without_stances:
                yield from self._poll(number)
            if settled and self.settings.early_stop:
                self.note("early_stop", round=number)
                break

    def _chat(self) -> Chatting:
        """Run a free discussion. A seat's turns count its own messages from 1; each shows the messages that are new to it."""
        present, said, read = list(self.seats), dict.fromkeys(self.seats, 0), dict.fromkeys(self.seats, 0)
        so_far: list[int] = []
        """Number of messages at each time that seats were asked."""

        while present:
            self.spend("turn")
            so_far.append(len(self.messages))
            answers = yield [
                Ask(
                    seat,
                    "DISCUSSION",
                    said[seat] + 1,
                    self._notices.get(seat, "") + self.view.ask("chat", seat, self._new_to(seat, read[seat])),
                    free=True,
                )
                for seat in present
            ]
            ((seat, (answer,)),) = answers.items()
            if answer.no_reply is not None:
                # nobody is timed out of a chat but by its clock, and that closes it for all
                for one in [*present] if answer.no_reply == "timeout" else [seat]:
                    present.remove(one)
                    self.note("left", one, no_reply=answer.no_reply)
                continue
            said[seat] += 1
            self._say(seat, said[seat], answer)
            read[seat] = so_far[-1 - answer.late]
            if said[seat] == MAX_MESSAGES:
                present.remove(seat)

    def _new_to(self, seat: int, since: int) -> list[Said]:
        """Return the messages of others that are new to this seat; all messages if the settings say so."""
        if self.settings.heard == "all":
            return list(self.messages)
        return [said for said in self.messages[since:] if said[0] != seat]

    def _vote(self, phase: str, text: Callable[[int], str]) -> Voting:
        self.spend("vote")
        measures = phase in self.settings.measuring
        asked = [text(seat) for seat in self.seats]
        answers = yield [Ask(seat, phase, 0, asked[seat], measures, partial(self._refuse, asked[seat])) for seat in self.seats]
        ballots = {seat: read_ballot(self.scenario, answers[seat][-1].text, mend) for seat in self.seats}
        for seat, ballot in ballots.items():
            forfeit = answers[seat][-1].no_reply
            self.note(
                "vote", seat, when=phase, option=ballot.option, given=ballot.given, rationale=ballot.rationale,
                attempts=len(answers[seat]), no_reply=forfeit,
            )  # fmt: skip
        return ballots

    def _refuse(self, asked: str, answers: Sequence[Answer]) -> str | None:
        ballot = read_ballot(self.scenario, answers[-1].text, mend)
        valid = ballot.option is not None or answers[-1].no_reply is not None
        if valid or len(answers) >= self.settings.vote_attempts:
            return None
        return asked if self.settings.revote == "same" else self.view.repeat_vote(ballot.given, ballot.problem)

    def _round(self, number: int, ballots: dict[int, Ballot]) -> Talking:
        """Run one round of talk; return True if all seats kept one common stance and no new fact was cited."""
        before, heard = dict(self.stances), len(self.public)
        self.last_round = len(self.messages)
        for seat in self.seats:
            self.spend("turn")
            reminder = self._reminder(ballots[seat]) if self.settings.remind_pre_vote and number == 1 else ""
            text = self._notices.get(seat, "") + self.view.turn(seat, number, self._read_by(seat), reminder)
            answers = yield [Ask(seat, "DISCUSSION", number, text)]
            self._say(seat, number, answers[seat][-1])
        self.view.is_collected |= self.settings.structure == "round_robin" and len(self.messages) == self.last_round
        agreed = len(self.stances) == len(self.seats) and len(set(self.stances.values())) == 1
        return agreed and before == self.stances and heard == len(self.public)

    def _poll(self, number: int) -> Polling:
        """Ask all seats alone for their stance; a reply that names no option counts as none and is not retried."""
        self.spend("vote")
        texts = [self.view.ask("poll", seat, self._read_by(seat)) for seat in self.seats]
        answers = yield [Ask(seat, "POLL", number, texts[seat], ephemeral=True) for seat in self.seats]
        for seat in self.seats:
            answer = answers[seat][-1]
            ballot = read_ballot(self.scenario, answer.text, mend)
            self.note("poll", seat, round=number, option=ballot.option, given=ballot.given, no_reply=answer.no_reply)

    def _reminder(self, ballot: Ballot) -> str:
        label = self.scenario.label(ballot.option) if ballot.option else ""
        return f"{label}. {ballot.rationale}".strip() if label else ""

    def _reveal(self) -> None:
        for seat in self.seats:
            own = [fact for fact in self.dealt.hands[seat] if self.scenario.by_id[fact].scope != "shared"]
            if own:
                self.messages.append((seat, " ".join(self.scenario.by_id[fact].text for fact in own)))
            self.note("reveal", seat, facts=own)

    def _read_by(self, seat: int) -> list[Said]:
        """Return the latest message of each other seat, oldest first; all messages if the settings say so."""
        if self.settings.heard == "all":
            return list(self.messages)
        latest: dict[int, Said] = {}
        for speaker, text in self.messages:
            latest.pop(speaker, None)
            latest[speaker] = (speaker, text)
        return [said for speaker, said in latest.items() if speaker != seat]

    def _repeated(self) -> list[Said]:
        return self.messages if self.settings.vote_view == "all" else self.messages[self.last_round :]

    def _say(self, seat: int, number: int, answer: Answer) -> None:
        structured, prose = self.settings.track == "structured", chat_text(answer.text, chat=self.settings.may_pass)
        self._notices[seat] = notice_line(answer.text, "")
        text, cites, stance, bad = self._structured(seat, answer.text) if structured else (prose, [], None, [])
        stance = stance if number > self.settings.without_stances else None
        if answer.no_reply is None and text:
            shown, board = split_board(text) if self.settings.structure == "board" and seat == 0 else (text, "")
            self.view.board = board or self.view.board
            self.messages.append((seat, publish_message(self.scenario, self.public, shown, cites) if structured else shown))
        if stance:
            self.stances[seat] = stance
        self.note("message", seat, round=number, text=text, cites=cites, stance=stance, no_reply=answer.no_reply)
        for handle in bad:
            self.note("bad_handle", seat, round=number, handle=handle)

    def _structured(self, seat: int, reply: str) -> tuple[str, list[str], str | None, list[str]]:
        reading = read_message(reply, mend)
        if reading.value is None:
            self._notices[seat] = notice_line(reply, reading.problem if reading.is_broken or reading.is_refused else "")
            return chat_text(reply, chat=self.settings.may_pass), [], None, []
        value = reading.value
        own = {f"F{place}": fact for place, fact in enumerate(self.dealt.hands[seat], start=1)} | self.public
        handles = read_handles(value.get("cites"))
        cites = list(dict.fromkeys(own[handle] for handle in handles if handle in own))
        stance, text = value.get("stance"), value.get("text")
        chosen = find_option(self.scenario, stance) if isinstance(stance, str) else None
        said = chat_text(text if isinstance(text, str) else "", chat=self.settings.may_pass)
        return said, cites, chosen, [h[:40] for h in handles if h not in own]
