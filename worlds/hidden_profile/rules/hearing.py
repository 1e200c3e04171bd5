"""Detection of what a text does to a fact: it asserts, denies, contradicts or asks about it (specification, 2.7).

Each text of a fact has hand-written cues. A cue matches if all its parts occur in a clause, a sentence or two adjacent ones. A
part must match at the beginning of a word, so `tern` does not match afternoon, and `wash` matches washing. It may have
alternatives, `van|lorry`; `red > left` wants both in this order in one clause, at most four words apart; a part that begins
with `!` must not occur. Texts and cues are folded first: case, compatibility forms, typographic quotes and dashes, white space.

1. A sentence is told, denied or open: open if it asks, doubts, or says that something is unknown. Words right after a `not` or
`rather than` are denied too, unless the cue contains such a word itself.
2. A sentence with a source (`my cousin swears that...`) is open for a fact whose text has no word of that source, unless the
source is a person in the session or a paper.
3. A fact is *asserted* if a cue of its text matches what is told, and no cue of the other texts of its card does;
*contradicted* if only another text is told; *denied* if its own text is denied; *asked* about if a question or a doubt matches,
where one part of three may be missing. A quote of a text always matches, and is told, denied or open as a whole.
The caller must pass only facts that the speaker holds or has heard. `oracles.hidden_profile.detection` measures the accuracy.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from worlds.hidden_profile.rules.scenario import Fact, Scenario, Words

_PLAIN = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2010": "-", "\u2011": "-", "\u2013": "-"}
)


_BEGINNING = re.compile(r"(?<!\w)(?=\w)")
_SENTENCE = re.compile(r"(?<!\.\.\.)(?<=[.!?])\s+")
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
    r"(i|you) bet\b(?! on)",
    r"^((and|but|so|well|now),? )*if\b(?! (you|i) (ask|look|remember|want|count|read|understand|like|have|see|am|'m)\w*\b)",
)
_NOT_KNOWN = (
    r"(nobody|no one|none of (us|you))('s( \w+)?|( \w+){0,6}) (knows?|tell|told|said|asked|looked|checked)\b(?!( \w+)? why\b)",
    r"(^|have |i've |we've )no idea\b|no way of (telling|knowing)\b|not aware\b|remains to be\b|anyone's guess\b|news to me\b",
    r"(have|had|has|with|got|there's|there is) no (information|word|news|record|evidence|knowledge|data|confirmation)\b",
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
    rf"{_NEGATED}( \w+| for a (minute|moment))? (know|agree|believe|think|suppose|reckon|imagine|see (how|why|what|that))\b",
    r"(don't|do not|can't|won't) buy (it|that|this)\b",
    rf"(i|we)( {_NEGATED}|'d not)( \w+){{0,2}} (swear|vouch|bet|bank|build|count|rely|promise)\b",
    r"(i|we) ((wouldn't|shouldn't) say(?! no\b)|won't have it that)\b|(can't|don't) tell me\b|i('d)? (question|dispute)\b",
    r"(hard|difficult|impossible) to (believe|credit|imagine|see (how|why))\b|find (it|that|this)( \w+)? hard\b",
    r"(surprised|amazed|astonished) (if|to hear|to see)\b|before i('d)? believed?\b",
    r"(i|we)('d| would)? (\w+ )?(want|like|need|have) (to see (that|it|the|proof)|proof|(it|that) (confirmed|looked))\b",
    r"(?<!than )i('d| had| always| rather|'d rather) (thought|heard|understood|have (said|thought|guessed|bet|sworn))\b",
    r"(nobody|no one|nothing)( has|'s| have)?( \w+)? (shown?|showed|proved|proven|convinced|persuaded) (to )?(me|us)\b",
    r"(i|we)( really| still)? (don't|do not|can't|cannot)( really| quite)? (trust|credit|accept)\b",
    r"uneasy\b|(strikes me as|seems|sounds) (odd|strange|off)\b|second look\b|genuine\?|^reckon\b",
    r"i thought (it|that|he|she|they|we|you|there)\b|could have sworn\b|last i heard\b|in my head that\b",
)
_DISCLAIMED = (
    r"hearsay\b|rumou?rs?\b|gossip\b|grapevine\b|word is\b|it('s| is) said\b|(story|joke|tale|talk) goes\b|quote me\b",
    r"(second|third|fourth)[- ]hand\b|from memory\b|(un|not )(checked|verified|confirmed)\b|no (promise|guarantee)s?\b",
    r"take (it|that|this) (for what|with)\b|for what (it|that)('s| is) worth\b|passing (it|that|this) (on|along)\b|vaguely\b",
    r"(only|just) (talk|(her|his|their|the) word|a story|what (people|they) say)\b|(call it|(my|a|wild|best)) guess\b|mix-up\b",
    r"(he|she|they|i|it|that)( \w+)? (may|might|could)( well)? (have (it|that|this)|be) (wrong|mistaken|a mix)\b",
    r"who knows\b|apparently\b|or so (my|the|they|he|she|i)\b|make of (it|that) what\b|repeating\b|corridor talk\b",
    r"whisper\w*|(can't|couldn't) (confirm|vouch|verify)\b|no idea if\b|had it that\b|don't hold me\b|nothing on paper\b",
    r"(of mine|someone) heard\b|whether (it|that|this)('s| is| was) (true|so|right)\b",
)
_NOT_VOUCHED = (
    r"could be( just)? a story\b|mumbled\b|(seems?|seemed) to (remember|recall)\b|has it that\b",
    r"(i|we) haven't (been|seen|checked)\b|too \w+ to (believe|be true)\b|hesita(te|nt)\b|read (it|that) somewhere\b",
    r"told (my|our|someone|somebody|a (friend|mate|neighbour|cousin|colleague))\b|i( was|'ve been| have been) told(,| by)",
    r"i( only)? heard\b(?! of)",
    r"i( should| would)? (guess|suppose|suspect|imagine|assume|gather)\b|i've heard\b|that's( just| only)?( \w+)? talk\b",
)
_NOT_SO = (
    r"(false|untrue|a lie|a myth|wrong|incorrect|mistaken|nonsense|rubbish)( to \w+)? that\b",
    r"(\w+n't|not)( \w+)? (true|so|right|the case)( to \w+)? that\b",
    r"contrary to\b|the (opposite|reverse) of\b|(deny|denies|denied|disproved?) that\b|^(false|untrue|wrong): ",
    r"(it|that|this) (can't|cannot|can hardly|couldn't) (be|have been) (that|true|right|so)\b|not the case\b|no truth in\b",
    r"(it|that|this)('s| is| was)( \w+)? not (true|right|correct)\b|(it|that|this) (isn't|wasn't) (true|right|correct)\b",
    r"not (as (if|though)|that i know|to my knowledge|saying|necessarily)\b|i('ve)? (never|didn't) (said|say)\b",
    r"doesn't (sound|seem) (right|true|likely)\b|(nothing|nowhere)( \w+){0,6} (says?|shows?|proves?) (that|which|if|whether)\b",
    r"(got|get|have|has|had) (it|that|this|them) (\w+ )?(wrong|mixed up)\b|(you're|you are|must be) (wrong|mistaken)\b",
    r"you('ve| have)? (misread|misheard|mixed)\b|must (be|have been) (thinking|looking)\b|must have (looked|misread)\b",
    r"(read|heard|got|seen|written|put)( \w+){1,4} wrong\b|pulling (your|my|our) leg\b|i'd have (seen|noticed|smelt|heard)\b",
    r"(isn't|aren't|wasn't|weren't) (what|how|where|when)\b",
    r"whatever( [\w']+){1,4} (says?|said|thinks?|claims?)\b|(was|were) never (the|a|an|any|on|in|at|from|for)\b",
)
_OPEN = re.compile(r"\b(?:" + "|".join((*_ASKS, *_NOT_KNOWN, *_NOT_BELIEVED, *_DISCLAIMED, *_NOT_VOUCHED)) + ")")
"""A sentence that leaves the point open. Each pattern begins at the beginning of a word."""

_DISCLAIMER = re.compile(r"\b(?:" + "|".join(_DISCLAIMED) + r"|sceptical\b|doubt)")
"""A sentence that leaves the one before it open, too."""

_FALSE = re.compile(
    r"\b(?:" + "|".join(_NOT_SO) + r")|, [^,;]{3,40} (?:is|are|was|were|has been|have been|must be)(?: \w+)? "
    r"(?:wrong|mistaken|misread|in error|unreliable|dreaming|confus\w+|mixed up)\b"
    r"|[,.] (?:that|this|it)(?:'s| is)(?: \w+)? (?:wrong|a mistake|a misreading|off)\b"
)
"""A sentence that denies."""

_ASIDE = re.compile(
    rf",? (and|but|so|though) (nobody|no one|i|we|he|she|they)('s| has| have|'ve)? "
    rf"(knows|(don't|doesn't|can't|couldn't) (know|say|tell)|(got )?no idea) "
    rf"(?!if|whether){_WHAT}\b(?!.*\b(it|that|this)\b)[^,;?]*$"
    rf"|,? (and|but|so|though) {_WHAT}\b[^,;?]*, (nobody|no one) knows\W*$"
)
"""A last clause that leaves open something other than the clause before it."""

_LIMITED = re.compile(
    r"((?:\bnot|n't|\bno|\bnothing|\bnever|\bunsure)\b[^.,;?!]* (?:about|anything|any|else|others?|rest)\b[^.,;?!]*), but "
)
"""A first clause that leaves open something other than the clause after it: I don't know about the rest, but..."""

_SHORTLY = (
    r"(that|this|it)('s| is| was) (just |all |only |simply |plainly )*(not|wrong|nonsense|rubbish)\b",
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
_LEAD = r"(?:(?:no|oh|well|but|and|sorry|hm),? )*"
_TAKES_BACK = re.compile(_LEAD + "(?:" + "|".join(_SHORTLY) + ")")
"""Beginning of a sentence that denies or doubts the one before it."""

_DENIES_BACK = re.compile(_LEAD + "(?:" + "|".join((_SHORTLY[0], _SHORTLY[2], _SHORTLY[3])) + ")")
"""Beginning of a sentence that denies the one before it."""

_NO = re.compile(r"(no|nope|never|hardly)\b(?! (doubt|wonder|idea|one)\b)")
"""An answer that denies the question before it."""

_UNCONTRACTED = re.compile(r"\b(would|should|could|do|does|did|is|are|was|were|has|have|had) not\b")

_TOPIC = re.compile(
    r"((and|but|oh|so|now|well|ah|right),? )*"
    r"(th(at|is|ese|ose|e)|my|our|his|her|their|(what|how) about|as for|you (know|remember)|remember|(in|on|at|for|with) the)\b"
)
"""Beginning of a question that may only name a thing."""

_DENIAL = re.compile(r"\b(not|never|cannot|no|nobody|neither|nor|without|t)\b")
_JOINT = (
    "but|and|so|because|as|until|till|before|only|just|forget|mention|except|if|than|which|who|when|where|while"
    r"|(?<!from \0)(?<!of \0)(?<!in \0)(?<!on \0)(?<!to \0)(?<!at \0)that"
)
_DENIED = re.compile(
    r"(\0not|n'\0t|\0never|\0cannot|\0nobody|\0neither|\0nor|(?P<no>\0no)(?! \0(?:doubt|wonder|later|sooner|more|to)\b)"
    r"|\0rather \0than|\0instead \0of|\0as \0opposed \0to)(?!(?: [\0\w]+)? \0(?:doubt|no)\b)"
    rf"((?: (?!\0(?:{_JOINT})\b)[\0\w'-]+){{1,12}})(?(no)|(?![^,;:.]* \0(?:before|until|till)\b))"
)
"""Up to twelve words of a clause after its `not`: `it isn't oak` has no oak. `They won't weld till April` denies no welding."""

_CLAUSE = re.compile(r"[;:] |, (?=\0(?:and|but)\b)| (?=\0but\b)")
"""End of a clause in a marked sentence; an `and` without a comma joins words as often, so it is no end."""


_CONDITION = re.compile(r"(?<=\w) (?!\0as\b)\0(if|unless|provided|in case)\b[^,;:]*")
"""A condition within a sentence, which is not told."""


_LINE_END = re.compile(
    r"(?<![.!?\s])\s*\n(?=\s*(?:\n|[-*+#>|\u2022(\d\"\u201c]|[a-zA-Z]\)))"
    r"|(?<=[^\n]{20})(?<![.!?\s])[ \t]*\n(?=\s*[A-Z])"
)
"""End of a line that ends a sentence: before a list point, a blank line or a capital, but not within a wrapped sentence."""

_LIST_MARK = re.compile(r"^\s*(?:[-*+#>|\u2022]+|\(?(?:\d{1,2}[.)]|[a-zA-Z]\)))\s+", re.MULTILINE)


def fold_text(text: str) -> str:
    """Fold a text for comparisons."""
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFKC", text).translate(_PLAIN).casefold().split())


def fold_message(text: str) -> str:
    """Fold a text that may be in several lines: a point of a list, a heading and a paragraph end as a sentence does."""
    return fold_text(_LIST_MARK.sub("", _LINE_END.sub(". ", text)))


Said = Literal["asserted", "denied", "contradicted", "asked"]
"""What a text does to a fact."""

FALSE: tuple[Said, ...] = ("denied", "contradicted")
"""What a text does to a fact if it says that something else holds."""

Status = Literal["told", "denied", "open"]


def classify_fact(fact: Fact, text: str) -> Said | None:
    """Return what a text does to a fact; None for nothing, or if the fact has no cues."""
    if not fact.cues:
        return None
    quoted, rest = _quotes(fact, fold_message(text))
    if "told" in quoted[0] and "told" not in quoted[1]:
        return "asserted"
    own = _statuses(fact, rest) | quoted[0]
    if not own and _asks_topic(fact, rest):
        own = {"open"}
    other = {status for words in fact.others for status in _statuses(words, rest)} | quoted[1]
    if "told" in own:
        return "asserted" if "told" not in other else None
    if "told" in other:
        return "contradicted"
    if "denied" in own:
        return "denied"
    return "asked" if own | other else None


def _asks_topic(fact: Fact, folded: str) -> bool:
    """Return True if an open sentence has all parts of a cue that another text of the card has in a cue, too: its topic."""
    rivals = {part for words in fact.others for cue in words.cues for part in cue if not part.startswith("!")}
    topics = [tuple(part for part in cue if part in rivals) for cue in fact.cues]
    open_ones = [said for status, said, *_ in _windows(folded) if status == "open"]
    return any(topic and _parsed(topic).occurs(said) for topic in topics for said in open_ones)


def surfaced_facts(scenario: Scenario, text: str, known: Iterable[str]) -> dict[str, Said]:
    """Return what a text does to each of the `known` facts that it concerns, in the order given."""
    said = ((fact, classify_fact(scenario.by_id[fact], text)) for fact in known)
    return {fact: done for fact, done in said if done is not None}


def matches_cue(words: Words, text: str) -> bool:
    """Return True if one of the text's cues matches what another text tells."""
    return "told" in _statuses(words, fold_message(text))


def _quotes(fact: Fact, folded: str) -> tuple[tuple[set[Status], set[Status]], str]:
    """Return how the fact's own text and the others of its card are quoted, and the rest of a folded text."""
    how: tuple[set[Status], set[Status]] = (set(), set())
    for words in (fact, *fact.others):
        quote = fold_text(words.text).rstrip(".!")
        while (start := folded.find(quote)) >= 0:
            before, after = folded[:start], folded[start + len(quote) :].lstrip(".!\"' ")
            lead = _SENTENCE.split(before)[-1]
            asks = "?" if after.startswith("?") else ""
            status = _retracted(after) or (_status(f"{lead}it is so{asks}") if lead.strip() or asks else "told")
            how[words is not fact].add(status)
            folded = f"{before.removesuffix(lead)}{_BREAK}{after.lstrip('?')}"
    return how, folded


_WHOLE = re.compile(r"\b(no|not|nor)$")
"""Words that are no beginnings of other words in a cue: `not` does not match noted."""

_BREAK = ". "
"""Put in the place of a quote, so that the sentences around it are not adjacent to each other in words."""


def _statuses(words: Words, folded: str) -> set[Status]:
    """Return how the cues of a text match a folded text: what is told, denied or open."""
    own = _vocabulary(words.text)
    return {status for cue in words.cues for status in _matches(_parsed(cue), own, folded)}


def _matches(cue: Cue, own: frozenset[str], folded: str) -> Iterator[Status]:
    """Yield the status of each window of a folded text that a cue matches; `own` has the words of the fact."""
    for status, said, granted, sources in _windows(folded):
        if not cue.nearly_occurs(said, int(status == "open" and len(cue.wanted) > 2)) or cue.barred.occurs(said):
            continue
        if status == "open" or any(source.isdisjoint(own) for source in sources):
            yield "open"
        else:
            denying = any(part.occurs(said) for part in cue.denying)
            yield status if denying or all(part.occurs(granted) for part in cue.wanted) else "denied"
    for topic, said in _named(folded):
        if cue.occurs(said) and not cue.occurs(topic) and not cue.barred.occurs(said):
            yield "told"


_SPEAKS = (
    r"(?:sa(?:ys?|id|ying)|t(?:ells?|old|elling)|claim\w*|swear\w*|swore|maintain\w*|mention\w*|reckon\w*|insist\w*|remember\w*"
    r"|recall\w*|phoned|thinks?|thought|believe[sd]?|whisper\w*|hint\w*|assur\w*|boast\w*|mutter\w*|mumbl\w*|let slip|gossip\w*"
    r"|argu(?:ed|es|ing)|suspect\w*|suppos\w*|guess\w*|heard|hears|overheard|joke[sd]?|figure[sd]|imagine[sd]?)\b"
)
_AUXILIARY = (
    r"(?:(?:used|likes?|seem\w*|keeps?|kept|wants?|tried|loves?|ha[sd]|have|was|were|is|are|to|once|always|also|even|just|only"
    r"|still|been|never|often|on|going|around|round|about) )*"
)
_SPEAKER = re.compile(rf"((?:[\w'-]+ ){{1,7}}?){_AUXILIARY}{_SPEAKS}")
"""The words before a verb of saying or thinking."""

_PLACE = re.compile(r"\b(an?|some|my|our|of the) ((?:\w+ )+?)(?:in|at|from|on|with|who)\b.*")

_NOT_NAMES = re.compile(
    r"(the|an?|of|at|in|on|from|to|by|for|with|and|or|but|so|as|if|than|then|not|no|nor|some|any|my|your|our|his|her|their|its|this"
    r"|these|those|which|(that|who|what|there|here|it)('s)?|when|while|where|how|more|most|all|both|each|(an)?other|is|was|are|were|be(en)?"
    r"|ha[sd]|have|d(o|id|oes)|him|me|us|i|we|you|(i|we|you)'\w+|must|should|can|could|would|will|may|might|got|sorry|glad|bound"
    r"|\w+n't)"
)
_OURS = re.compile(
    r"(person|agent|seat|player|participant|page|sheet|note|card|list|book|letter|log|record|report|register|notice|sign|clause|slip"
    r"|contract|paper|form|file|minutes|table|map|plan|diary|programme|timetable|label|ledger|memo|message|rule|brief|handbook|manual"
    r"|text|document|fact|info(rmation)?|evidence|data|profile|point|detail)s?('s)?"
)
"""Whom or what a speaker may name as a source: the others in the session, and papers."""


@lru_cache(maxsize=4096)
def _sources(said: str) -> tuple[frozenset[str], ...]:
    """Return the names of each source that marked words give, without those that anybody may give."""
    phrases = (_PLACE.sub(r"\2", match[1]).split()[-4:] for match in _SPEAKER.finditer(said.replace("\0", "")))
    names = ([word for word in phrase if not _NOT_NAMES.fullmatch(word)] for phrase in phrases)
    return tuple(frozenset(map(_stem, one)) for one in names if one and not any(map(_OURS.fullmatch, one)))


@lru_cache(maxsize=8192)
def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(map(_stem, re.findall(r"[\w'-]+", fold_text(text))))


def _stem(word: str) -> str:
    return word.removesuffix("'s").removesuffix("s")


@dataclass(frozen=True, slots=True)
class CuePart:
    """Alternatives of which one must occur; each is a marked word sequence, or two of them in order."""

    plain: tuple[str, ...]
    ordered: tuple[tuple[str, ...], ...]

    def occurs(self, told: str) -> bool:
        """Return True if an alternative occurs in marked words."""
        for one in self.plain:
            if one in told:
                return True
        # compiling a pattern is slow, and few are ever needed
        return any(words[0] in told and words[-1] in told and _pattern(words).search(told) for words in self.ordered)


@lru_cache(maxsize=4096)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of `red > left`: both in this order, at most four words and no end of a clause between them."""
    first, *then = (re.escape(one) + (r"\b" if _WHOLE.search(one) else "") for one in words)
    between = rf"[\w'-]*(?:'\0\w+)?(?: (?!{first})[\0\w'-]+){{0,4}} "
    return re.compile(between.join((first, *then)))


@dataclass(frozen=True, slots=True)
class Cue:
    """One cue, parsed."""

    wanted: tuple[CuePart, ...]
    denying: tuple[CuePart, ...]
    """The alternatives of each wanted part that contain a denial themselves."""

    barred: CuePart

    def occurs(self, told: str) -> bool:
        """Return True if each wanted part occurs in marked words."""
        return self.nearly_occurs(told, 0)

    def nearly_occurs(self, told: str, missing: int) -> bool:
        """Return True if all wanted parts but at most `missing` occur in marked words."""
        for part in self.wanted:
            if not part.occurs(told):
                missing -= 1
                if missing < 0:
                    return False
        return True


@lru_cache(maxsize=65536)
def _parsed(cue: tuple[str, ...]) -> Cue:
    """Parse a cue."""
    barred = _part([fold_text(one) for part in cue if part.startswith("!") for one in part[1:].split("|")])
    wanted = [[fold_text(one) for one in part.split("|")] for part in cue if not part.startswith("!")]
    denying = [[one for one in part if _DENIAL.search(one)] for part in wanted]
    return Cue(tuple(map(_part, wanted)), tuple(map(_part, denying)), barred)


def _part(alternatives: Sequence[str]) -> CuePart:
    whole = [one for one in alternatives if ">" in one or _WHOLE.search(one)]
    plain = tuple(_marked_cue(one) for one in alternatives if one not in whole)
    return CuePart(plain, tuple(tuple(_marked_cue(word.strip()) for word in one.split(">", 1)) for one in whole))


def _marked_cue(words: str) -> str:
    """Mark the words of a cue; `n't` is the end of a word."""
    return _marked(words).removeprefix("\0" if words.startswith("n't") else "")


@lru_cache(maxsize=1024)
def _named(folded: str) -> tuple[tuple[str, str], ...]:
    """Return questions that only name the topic of the next sentence (`The cellar steps? Old oak.`), alone and with it."""
    return tuple(
        (_marked(topic), _marked(f"{topic} {said}"))
        for topic, said in pairwise(_SENTENCE.split(folded))
        if topic.endswith("?") and _TOPIC.match(topic) and not _OPEN.search(topic)
        if _status(said) == "told" and not _TAKES_BACK.match(said)
    )


@lru_cache(maxsize=1024)
def _windows(folded: str) -> tuple[tuple[Status, str, str, tuple[frozenset[str], ...]], ...]:
    """Return clauses, sentences and pairs of adjacent told sentences: status, words as said, those not denied, and sources.

    Sentences farther apart may concern different things. Clauses come first, so that barred parts are not searched for beyond
    the words that mention the fact; a text may mention two facts at once.
    """
    sentences = _sentences(folded)
    told = [said for status, said in sentences if status == "told"]
    told = [_CONDITION.sub("", said) for said in told]
    windows: list[tuple[Status, str, str]] = [("told", clause, said) for said in told for clause in _CLAUSE.split(said)]
    windows += [("told", said, said) for said in (*told, *map(" ".join, pairwise(told)))]
    windows += [(status, said, said) for status, said in sentences if status != "told"]
    return tuple(
        (status, said, _DENIED.sub(_unmarked, said), _sources(whole)) for status, said, whole in dict.fromkeys(windows)
    )


def _unmarked(denied: re.Match[str]) -> str:
    return denied[1] + denied[3].replace("\0", "")


def _sentences(folded: str) -> list[tuple[Status, str]]:
    """Return the sentences of a folded text with their words marked; one that takes back changes the one before it."""
    made: list[tuple[Status, str]] = []
    for sentence in _SENTENCE.split(_LIMITED.sub(r"\1. ", folded)):
        back = _retracted(sentence)
        if back is not None:
            made[-1:] = [(back, said) for _, said in made[-1:]]
            continue
        status = _status(sentence)
        if made and made[-1][1].endswith("?") and _NO.match(sentence):
            made[-1] = ("denied", made[-1][1])
        elif made and made[-1][0] == "told" and _DISCLAIMER.search(sentence):
            made[-1] = ("open", made[-1][1])
        if status != "told":
            for place in range(len(made) - 1, -1, -1):
                if not made[place][1].endswith("?"):
                    break
                made[place] = ("open", made[place][1])
        made.append((status, _marked(sentence)))
    return made


def _retracted(sentence: str) -> Status | None:
    """Return the status that the beginning of a sentence gives to the one before it, or None."""
    sentence = _UNCONTRACTED.sub(r"\1n't", sentence)
    if not _TAKES_BACK.match(sentence):
        return None
    return "denied" if _DENIES_BACK.match(sentence) else "open"


def _status(sentence: str) -> Status:
    """Return the status of a folded sentence; a question of at most three words only names a topic, so it is told."""
    sentence = _UNCONTRACTED.sub(r"\1n't", sentence)
    rest = _SETTLED.sub("", _ASIDE.sub("", sentence))
    if sentence.endswith("?") and len(sentence.split()) > 3 and not sentence.startswith("you know "):
        return "open"
    if _OPEN.search(rest):
        return "open"
    return "denied" if _FALSE.search(rest) else "told"


def _marked(folded: str) -> str:
    """Insert a mark at the beginning of each word, so that a marked search string matches only there."""
    if folded.replace(" ", "").isalnum():
        return f"\0{folded}".replace(" ", " \0")
    return _BEGINNING.sub("\0", folded)
