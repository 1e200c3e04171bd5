"""Who told what, as a judge model hears it, beside what the cues hear.

A question is one sentence or message and the facts of its session; the answer is the numbers of those that it tells. The judge
answers the labelled sentences too (`oracles.hidden_profile.detection`), so that its own error is known before it is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from worlds.core.mending import read_reply
from worlds.core.replies import AnswerShape, whole_number
from worlds.hidden_profile.rules.hearing import mentions
from worlds.hidden_profile.rules.scenario import Fact

SYSTEM = """\
You are given numbered facts and one message from a discussion. A fact is told if somebody who hears only this message, and
believes it, then knows what the fact says about the matter, in whatever words. A fact is not told if the message names the same
things without saying what the fact says of them, says only a part that leaves the point open, or denies it.
Reply with one JSON object: {"told": [numbers of the facts that the message tells]}. None told is {"told": []}."""


def _told(value: Any) -> Sequence[list[Any]]:
    told = value.get("told") if isinstance(value, dict) else None
    return [[whole_number(one) for one in told]] if isinstance(told, list) else []


_TOLD = AnswerShape('one JSON object with "told"', _told, key="told")


@dataclass(frozen=True)
class Question:
    """One message, with the facts that could be told in it."""

    facts: tuple[Fact, ...]
    text: str

    @cached_property
    def prompt(self) -> str:
        """The facts and the message as a model is shown them; equal prompts are one question."""
        facts = "\n".join(f"{number}. {fact.text}" for number, fact in enumerate(self.facts, start=1))
        return f"Facts:\n{facts}\n\nMessage:\n{self.text}"

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The question as a model is asked it."""
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": self.prompt}]

    @property
    def by_cues(self) -> frozenset[str]:
        """The facts whose cues fire."""
        return frozenset(fact.id for fact in self.facts if mentions(fact, self.text))

    def by_judge(self, reply: str) -> frozenset[str] | None:
        """The facts that a judge's reply names; None for a reply that names none in the form that was asked for."""
        told = read_reply(reply, _TOLD).value
        if told is None or not all(isinstance(one, int) and 1 <= one <= len(self.facts) for one in told):
            return None
        return frozenset(self.facts[one - 1].id for one in told)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two hearings of the same messages agree, fact by fact."""

    both: int
    only_cues: int
    only_judge: int
    neither: int

    @property
    def share(self) -> float | None:
        """The share of pairs of message and fact on which they agree; None where nobody said anything."""
        return (self.both + self.neither) / self.of if self.of else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None where chance alone would agree everywhere, or nobody said anything."""
        if self.share is None:
            return None
        cues, judge = (self.both + self.only_cues) / self.of, (self.both + self.only_judge) / self.of
        chance = cues * judge + (1 - cues) * (1 - judge)
        return None if chance == 1 else (self.share - chance) / (1 - chance)

    @property
    def of(self) -> int:
        """Pairs of message and fact."""
        return self.both + self.only_cues + self.only_judge + self.neither


def agreement(heard: Iterable[tuple[Question, frozenset[str]]]) -> Agreement:
    """Cues against a judge, over questions that the judge answered."""
    both = only_cues = only_judge = neither = 0
    for question, judged in heard:
        cued = question.by_cues
        both, only_cues, only_judge = both + len(cued & judged), only_cues + len(cued - judged), only_judge + len(judged - cued)
        neither += len(question.facts) - len(cued | judged)
    return Agreement(both, only_cues, only_judge, neither)
