"""Detection of the facts that a text mentions, by their own words or by hand-written cues (specification, 2.7).

A fact is mentioned if all parts of one of its cues occur in one clause, in one sentence or in two adjacent ones. Each part must
match at the beginning of a word, so `tern` does not match afternoon, and `wash` matches washing. A part may have alternatives,
`van|lorry`; a part that begins with `!` must not occur. A quote of a fact always mentions it. Texts and cues are folded first:
case, compatibility forms, typographic quotes and dashes, white space.
A sentence that asks, doubts, or says that something is unknown mentions nothing, nor does a short question before it (`Oars? I
doubt it.`). Words right after a `not` do not match a cue, unless the cue contains such a word too. The caller must pass only
facts that the speaker holds or has heard. `oracles.hidden_profile.detection` measures the accuracy.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from worlds.hidden_profile.rules.scenario import Scenario, Words

_PLAIN = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2010": "-", "\u2011": "-", "\u2013": "-"}
)


_BEGINNING = re.compile(r"(?<!\w)(?=\w)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SETTLED = re.compile(
    r"(\b(no|not|without|beyond|never|nobody)|n't)\b( [\w']+){0,3} doubt(s|ed)?\b"
    r"|\b(no|little|small) wonder\b"
)
"""Expressions that negate a doubt and so settle a point: no doubt, I never doubted, no wonder."""

_WHAT = "(if|whether|which|what|who|whose|where|when|how)"
_CANNOT = "(can't|couldn't|cannot|could not)"
_NEGATED = "(don't|doesn't|didn't|do not|can't|cannot|couldn't|wouldn't|shouldn't|never|hardly)"
_ASKS = (
    r"(i|we|you|one|me)( \w+)? wonder(s|ed)?\b|wondering\b|^whether\b",
    r"(should|ought to|must|need to|have to|(had|\w'd) better|let's)( \w+){0,3} (ask|check|find out|look again|confirm)\b",
    rf"(want|like) to (know|see|hear) {_WHAT}\b|(tell|remind) (me|us) {_WHAT}\b",
    r"(it|that)( would|'d) (be|have been) (nice|lovely|good|grand|great|fun|handy|a shame|a pity)\b",
    r"(i|we) wish\b|if only\b",
    r"(i|you) bet\b(?! on)|^((and|but|so|well),? )*if\b(?! (you|i) (ask|look|remember|want|count|read|like)\b)[^,]*\bagain\b",
)
_NOT_KNOWN = (
    r"(nobody|no one|none of (us|you))('s( \w+)?|( \w+){0,6}) (knows?|tell|told|said|asked|looked|checked)\b(?!( \w+)? why\b)",
    r"(^|have |i've |we've )no idea\b|no way of (telling|knowing)\b|not aware\b|remains to be\b|anyone's guess\b|news to me\b",
    r"(haven't|not|never) (heard(?! of)|(seen|read) (it|that|any|anything|such))\b|heard (different|otherwise|both)",
    rf"{_CANNOT}( [\w']+){{0,6}} (remember|recall)\b|(i|we|you) {_CANNOT} (say|tell( you| us)) (that|{_WHAT})\b",
    rf"^(if|which|what|where|when|how)\b.* i {_CANNOT} (say|tell)\b|(forget|forgot|forgotten) {_WHAT}\b",
    r"(not|((can't|couldn't|wouldn't|shouldn't) be)|isn't|wasn't|aren't|far from)( [\w']+){0,2} (sure|certain|convinced)\b",
    r"(not|isn't|wasn't|aren't|far from)( [\w']+){0,2} persuaded\b|unsure\b",
    r"(isn't|not) (yet |really |at all )?(known|clear|confirmed) (if|whether|which|what|who|that)\b",
    r"(only|just|mere|idle) (a )?(rumou?r|hearsay|gossip|talk|guess|guessing|guesswork)\b|only have your word\b",
    r"(allegedly|supposedly|hopefully)\b|(i|we)( \w+)? hope\b|^(maybe|perhaps|suppose|supposing|assuming|as if)\b",
    r"(could|might|may) (just )?as (well|easily)\b|(who|what) says (so|that|it)\b|if (it's|it is|that's) (true|so|right)\b",
)
_NOT_BELIEVED = (
    r"doubt(s|ed|ful|ing)?\b|sceptical\b|unlikely\b|surely not\b|^((but|and|oh|no|well),? )*surely\b|(pinch|grain) of salt\b",
    rf"{_NEGATED}( \w+| for a (minute|moment))? (know|believe|think|buy|suppose|reckon|imagine|see (how|why|what|that))\b",
    rf"(i|we)( {_NEGATED}|'d not)( \w+){{0,2}} (swear|vouch|bet|bank|build|count|rely|promise)\b",
    r"(i|we) ((wouldn't|shouldn't) say(?! no\b)|won't have it that)\b|(can't|don't) tell me\b|i('d)? (question|dispute)\b",
    r"(hard|difficult|impossible) to (believe|credit|imagine|see (how|why))\b|find (it|that|this)( \w+)? hard\b",
    r"(surprised|amazed|astonished) (if|to hear|to see)\b|before i('d)? believed?\b",
    r"(i|we)('d| would)? (\w+ )?(want|like|need|have) (to see (that|it|the|proof)|proof|(it|that) (confirmed|looked))\b",
    r"(?<!than )i('d| had| always| rather|'d rather) (thought|heard|understood|have (said|thought|guessed|bet|sworn))\b",
    r"(nobody|no one|nothing)( has|'s| have)?( \w+)? (shown?|showed|proved|proven|convinced|persuaded) (to )?(me|us)\b",
    r"(i|we)( really| still)? (don't|do not|can't|cannot)( really| quite)? (trust|credit|accept)\b",
    r"i thought (it|that|he|she|they|we|you|there)\b|could have sworn\b|last i heard\b|in my head that\b",
)
_NOT_SO = (
    r"(it|that|this) (can't|cannot|can hardly|couldn't) (be|have been) (that|true|right|so)\b|not the case\b|no truth in\b",
    r"(it|that|this)('s| is| was)( \w+)? not (true|right|correct)\b|(it|that|this) (isn't|wasn't) (true|right|correct)\b",
    r"not (as (if|though)|that i know|to my knowledge|saying|necessarily)\b|i('ve)? (never|didn't) (said|say)\b",
    r"doesn't (sound|seem) (right|true|likely)\b|(nothing|nowhere)( \w+){0,6} (says?|shows?|proves?) (that|which|if|whether)\b",
    r"(got|get|have|has|had) (it|that|this|them) (\w+ )?(wrong|mixed up)\b|(you're|you are|must be) (wrong|mistaken)\b",
    r"you('ve| have)? (misread|misheard|mixed)\b|must (be|have been) (thinking|looking)\b|must have (looked|misread)\b",
    r"(read|heard|got|seen|written|put)( \w+){1,4} wrong\b|pulling (your|my|our) leg\b|i'd have (seen|noticed|smelt|heard)\b",
    r"whatever( [\w']+){1,4} (says?|said|thinks?|puts?)\b|(was|were) never (the|a|an|any|on|in|at|from|for)\b",
)
_OPEN = re.compile(r"\b(?:" + "|".join((*_ASKS, *_NOT_KNOWN, *_NOT_BELIEVED, *_NOT_SO)) + ")")
"""A sentence that leaves the point open, or denies it. Each pattern begins at the beginning of a word."""

_ASIDE = re.compile(
    rf",? (and|but|so|though) (nobody|no one|i|we|he|she|they)('s| has| have|'ve)? "
    rf"(knows|(don't|doesn't|can't|couldn't) (know|say|tell)|(got )?no idea) "
    rf"(?!if|whether){_WHAT}\b(?!.*\b(it|that|this)\b)[^,;?]*$"
    rf"|,? (and|but|so|though) {_WHAT}\b[^,;?]*, (nobody|no one) knows\W*$"
)
"""A last clause that leaves open something other than the clause before it."""

_SHORTLY = (
    r"(that|this|it)('s| is| was) (just |all |only )*(not (true|so|right)|wrong|nonsense|rubbish)\b",
    r"(that|this|it)('s| is| was) (just |all |only )*(a )?(rumou?r|hearsay|gossip|talk|guess)\b",
    r"(that|this|it) (isn't|wasn't|can't be|cannot be) (true|so|right)\b|(that|it) doesn't (sound|seem) (right|true|like)",
    r"(no, )?not (true|so)( at all)?(?= ?[.,;!?]|$)|nonsense\b|rubbish\b",
    r"surely not\b|says who\b|hard to believe\b|i have (my|some|grave) doubts\b",
    r"really\?|(does|did|do|is|was|are|were|has|have)(n't)? (it|he|she|they|that)(,? \w+)?\?|are you( \w+)? (sure|certain)\b",
    r"(could|can|might) (you|he|she|they|it)( \w+)? (be|have been) (thinking|mixing|confusing|misreading|wrong|mistaken)\b",
    r"(are|were|aren't|weren't) you( \w+)? (thinking|mixing|confusing|confused)\b|sounds? (wrong|unlikely|odd) to me\b",
    r"((or|no|but),? )*(isn't|wasn't|aren't|weren't) (it|that|they|he|she) (the|on|in|at|from|to|rather)\b[^.]*\?",
    r"i ((rather|very much|really|do) )?(doubt|wonder)( it| that)?\b(?! \w)|i'm not (so )?(sure|certain|convinced)\b(?! \w)",
    r"i (don't|can't|didn't)( really| quite)? (think|believe) (so|it|that)\b(?! \w)",
    r"i (wouldn't|shouldn't|couldn't) (swear|bet|bank|build|count|rely) (to|on) (it|that)\b(?! \w)",
)
_TAKES_BACK = re.compile("|".join(_SHORTLY))
"""Beginning of a sentence that denies the one before it."""

_TOPIC = re.compile(
    r"((and|but|oh|so|now|well|ah|right),? )*"
    r"(th(at|is|ese|ose|e)|my|our|his|her|their|(what|how) about|as for|you (know|remember)|remember|(in|on|at|for|with) the)\b"
)
"""Beginning of a question that may only name a thing."""

_DENIAL = re.compile(r"\0(not|never|cannot|no|without|t)\b")
_JOINT = "but|and|so|because|as|until|till|before|only|just|forget|mention|except|if|than|that|which|who|when|where|while"
_DENIED = re.compile(
    rf"(\0not|n'\0t|\0never|\0cannot)((?: (?!\0(?:{_JOINT})\b)[\0\w'-]+){{1,4}})(?![^,;:.]* \0(?:before|until|till)\b)"
)
"""Up to four words of a clause after its `not`: `it isn't oak` has no oak. `They won't weld till April` denies no welding."""

_CLAUSE = re.compile(r"[;:] |, (?=\0(?:and|but)\b)| (?=\0but\b)")
"""End of a clause in a marked sentence; an `and` without a comma joins words as often, so it is no end."""


def fold_text(text: str) -> str:
    """Fold a text for comparisons."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_PLAIN).casefold().split())


def mentions_fact(fact: Words, text: str) -> bool:
    """Return True if a text quotes a fact that has cues, or one of the cues matches."""
    quoted = " ".join(_asserted(fact.text))
    return bool(fact.cues) and ((quoted != "" and quoted in " ".join(_asserted(text))) or matches_cue(fact, text))


def matches_cue(fact: Words, text: str) -> bool:
    """Return True if one of the fact's cues matches in a clause, a sentence, or two adjacent sentences of a text."""
    heard, named = _heard_at_once(text), _named(text)
    for cue in fact.cues:
        wanted, barred, denies = _parts(cue)
        for said, granted in heard:
            if _all_in(wanted, said if denies else granted) and not any(one in said for one in barred):
                return True
        for topic, said in named:
            if _all_in(wanted, said) and not _all_in(wanted, topic) and not any(one in said for one in barred):
                return True
    return False


def _all_in(wanted: tuple[tuple[str, ...], ...], told: str) -> bool:
    """Return True if an alternative of each wanted part occurs in marked words."""
    return all(any(one in told for one in part) for part in wanted)


@lru_cache(maxsize=1024)
def _named(text: str) -> tuple[tuple[str, str], ...]:
    """Return questions that only name the topic of the next sentence (`The cellar steps? Old oak.`), alone and with it."""
    told = pairwise(_SENTENCE.split(fold_text(text)))
    return tuple(
        (_marked(topic), _marked(f"{topic} {said}"))
        for topic, said in told
        if topic.endswith("?") and _TOPIC.match(topic) and not _OPEN.search(topic)
        if not (_open(said) or _TAKES_BACK.match(said))
    )


@lru_cache(maxsize=1024)
def _heard_at_once(text: str) -> tuple[tuple[str, str], ...]:
    """Return clauses, sentences and pairs of adjacent sentences, as said and with denied words unmarked.

    Sentences farther apart may concern different things. Clauses come first, so that barred parts are not searched for beyond
    the words that mention the fact; a text may mention two facts at once.
    """
    asserted = _asserted(text)
    clauses = (clause for sentence in asserted for clause in _CLAUSE.split(sentence))
    windows = dict.fromkeys((*clauses, *asserted, *map(" ".join, pairwise(asserted))))
    return tuple((said, _DENIED.sub(lambda denied: denied[1] + denied[2].replace("\0", ""), said)) for said in windows)


@lru_cache(maxsize=1024)
def _asserted(text: str) -> tuple[str, ...]:
    """Return the asserted sentences of a text, without those left open or retracted, with their words marked."""
    told: list[str] = []
    for sentence in _SENTENCE.split(fold_text(text)):
        if _TAKES_BACK.match(sentence):
            told[-1:] = [""]
        elif _open(sentence):
            while told and told[-1].endswith("?"):
                told.pop()
            told.append("")
        else:
            told.append(_marked(sentence))
    return tuple(sentence for sentence in told if sentence)


def _open(sentence: str) -> bool:
    """Return True if a folded sentence asks, doubts or denies; a question of at most three words only names a topic."""
    asks = sentence.endswith("?") and len(sentence.split()) > 3 and not sentence.startswith("you know ")
    return asks or bool(_OPEN.search(_SETTLED.sub("", _ASIDE.sub("", sentence))))


@lru_cache(maxsize=65536)
def _parts(cue: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...], bool]:
    """Return the alternatives of required and of barred parts, and True if the cue contains a denial."""
    wanted = tuple(_any_of(part) for part in cue if not part.startswith("!"))
    barred = tuple(one for part in cue if part.startswith("!") for one in _any_of(part))
    return wanted, barred, any(_DENIAL.search(one) for part in wanted for one in part)


def _any_of(part: str) -> tuple[str, ...]:
    """Return the alternatives of a part of a cue, with their words marked."""
    return tuple(_marked(fold_text(one)) for one in part.removeprefix("!").split("|"))


def _marked(folded: str) -> str:
    """Insert a mark at the beginning of each word, so that a marked search string matches only there."""
    return _BEGINNING.sub("\0", folded)


def surfaced_facts(scenario: Scenario, text: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return those of the `known` facts that a text mentions, in the order given."""
    return tuple(fact for fact in known if mentions_fact(scenario.by_id[fact], text))
