"""Which facts a text mentions, decided by their own words, by hand-written cues, and by nothing else (specification, 2.7).

A fact is mentioned where all parts of one of its cues occur in one sentence or in two neighbours, each at the beginning of a
word, so that `tern` is not heard in an afternoon and `wash` is in washing. A part may have alternatives, `van|lorry`; one that
begins with `!` must not occur. Whoever quotes a fact mentions it, whatever else is said.
Texts and cues are folded first: case, compatibility forms, typographic quotes and dashes, runs of blanks; so a curly apostrophe
hides nothing. A sentence that asks, or says that nobody knows, tells nothing. Whether the speaker can have known the fact is
for the caller to ask, by giving only the facts it holds or has heard. How often all this is right is known:
`oracles.hidden_profile.detection`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from worlds.hidden_profile.rules.scenario import Scenario, Words

_PLAIN = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2010": "-", "\u2011": "-", "\u2013": "-"}
)


_BEGINNING = re.compile(r"(?<!\w)(?=\w)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_OPEN = re.compile(
    r"(\S+\s+){3}\S+\?$"
    r"|\b(nobody|no one|none of us) (knows|has told|can tell|can say)\b"
    r"|^no idea\b|\b(have|i've|we've) no idea\b|\bno way of telling\b|\bhaven't heard\b"
    r"|\bnot (so |very |at all )?(sure|certain|convinced)\b"
    r"|\bdoubt (it|that|if|whether|very much)\b|\b(i'd|i would|rather) doubt\b"
    r"|\b(don't|doesn't|didn't|do not) (really |quite )?(know|believe|think|buy)\b|\bcan't (really |quite )?believe\b"
    r"|\b(want|like|have) to see (that|it|the|proof)\b|\b(who|what) says (so|that|it)\b"
    r"|\bonly (a )?(rumou?r|hearsay|gossip)\b"
    r"|\b(it isn't|it's not) true\b"
)
"""A sentence that leaves the point open, or denies it; a question of three words or fewer only names what comes next."""

_TAKES_BACK = re.compile(
    r"^(that|this|it)('s| is| was) (just |all )*(not (true|so|right)|wrong|nonsense|rubbish|a rumou?r)\b"
    r"|^(that|this|it) (isn't|wasn't) (true|so|right)\b|^(not true|nonsense|rubbish)\b"
    r"|^i ((rather|very much|really) )?doubt (it|that)\b"
)
"""A sentence that denies the one before it."""


def fold(text: str) -> str:
    """A text as comparisons see it."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_PLAIN).casefold().split())


def mentions(fact: Words, text: str) -> bool:
    """Whether a text quotes a fact that has cues, or one of them fires on it."""
    quoted = " ".join(_asserted(fact.text))
    return bool(fact.cues) and ((quoted != "" and quoted in " ".join(_asserted(text))) or fires(fact, text))


def fires(fact: Words, text: str) -> bool:
    """Whether one of the fact's cues fires on a sentence of a text, or on two that follow each other."""
    return any(
        all(any(one in said for one in _any_of(part)) is not _barred(part) for part in cue)
        for said in _heard_at_once(text)
        for cue in fact.cues
    )


@lru_cache(maxsize=1024)
def _heard_at_once(text: str) -> tuple[str, ...]:
    """Each two sentences that follow each other: farther apart one names a thing, and another what is so of something else."""
    asserted = _asserted(text)
    return tuple(" ".join(asserted[place : place + 2]) for place in range(max(1, len(asserted) - 1)))


@lru_cache(maxsize=1024)
def _asserted(text: str) -> tuple[str, ...]:
    """The sentences of a text but those that it leaves open or takes back, their words marked."""
    asserted: list[str] = []
    for sentence in _SENTENCE.split(fold(text)):
        if _TAKES_BACK.search(sentence):
            del asserted[-1:]
        elif not _OPEN.search(sentence):
            asserted.append(_marked(sentence))
    return tuple(asserted)


def _barred(part: str) -> bool:
    """Whether this part of a cue must not occur."""
    return part.startswith("!")


@lru_cache(maxsize=65536)
def _any_of(part: str) -> tuple[str, ...]:
    """The alternatives of a part of a cue, their words marked."""
    return tuple(_marked(fold(one)) for one in part.removeprefix("!").split("|"))


def _marked(folded: str) -> str:
    """A text with a mark where a word begins, so that looking for a marked piece in it finds beginnings of words alone."""
    return _BEGINNING.sub("\0", folded)


def surfaced(scenario: Scenario, text: str, known: Iterable[str]) -> tuple[str, ...]:
    """The facts, of those the speaker holds or has heard, that a text mentions; in the order given."""
    return tuple(fact for fact in known if mentions(scenario.by_id[fact], text))
