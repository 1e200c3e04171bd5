"""Ways in which models say the same reply, written without sight of any parser.

A `Turn` has the reply that a sensible player would send; a `Personality` says it in its own voice and states what
the text means:

- `READ`: the answer is in the text, whole, and nothing else in it is an answer of that kind (or all are equal).
- `EITHER`: a reader may understand it or refuse it with a reason; what it must not do is play anything else.
- `REFUSED`: the text has no answer that a reader could be sure of. It is refused with a reason.
- `SILENT`: the text says nothing.

Pure data and functions: nothing here imports the project.
"""

import json
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from tests.harness.agents.personalities import forms
from tests.harness.agents.personalities.forms import RAMBLE, THOUGHT, Turn, around, dumps, fence, plain


class Meaning(Enum):
    """What a referee who reads the text decides."""

    READ = "read as the sensible reply"
    EITHER = "read as the sensible reply, or refused with a reason"
    REFUSED = "refused with a reason"
    SILENT = "says nothing"


class Personality(NamedTuple):
    """One voice, and what its texts mean."""

    name: str
    means: Meaning
    say: Callable[[Turn], str]
    vote: Meaning | None = None  # where a vote in this voice means another thing than a batch

    def meaning(self, turn: Turn) -> Meaning:
        """Return what this voice's text at the turn means."""
        return self.vote if turn.kind == "vote" and self.vote else self.means


class Orator(NamedTuple):
    """A voice for talk in prose, where all that is said is the message. `heard` is False if the group hears nothing."""

    name: str
    heard: bool
    say: Callable[[str], str]


P, M = Personality, Meaning

PERSONALITIES: list[Personality] = [
    # the answer alone, in ways that JSON allows
    P("plain", M.READ, plain),
    P("pretty", M.READ, lambda t: dumps(t.answer, indent=4)),
    P("escapes", M.READ, lambda t: json.dumps(t.answer)),
    P("byte-order mark", M.READ, lambda t: "\ufeff" + plain(t)),
    P("carriage returns", M.READ, lambda t: dumps(t.answer, indent=2).replace("\n", "\r\n")),
    P("extra keys", M.READ, lambda t: dumps({"mood": "calm", "confidence": 0.9, "notes": [1, {"a": 2}], **t.answer})),
    P("no thoughts", M.READ, lambda t: dumps({k: v for k, v in t.answer.items() if k not in {"thinking", "rationale"}})),
    P("quotes a draft in its own thinking", M.READ, forms.draft_in_own_thinking),
    P("emoji", M.READ, lambda t: "🗓️🙂 " + dumps({**t.answer, "mood": "👩‍👩‍👧 [🍏, 🍐] {🍋}"}) + " 👍🏽"),
    P("half of an emoji", M.READ, lambda t: "\ud83d " + json.dumps({**t.answer, "mood": "\ude00"}) + " \ud83d"),
    P("control characters", M.READ, lambda t: "\x00\x07" + plain(t) + "\x1b[0m"),
    P("null for thoughts", M.READ, lambda t: dumps({**t.answer, "rationale" if t.kind == "vote" else "thinking": None})),
    P("actions in a string", M.READ, lambda t: dumps({k: dumps(v) if k == "actions" else v for k, v in t.answer.items()})),
    # prose around it
    P("rambles before", M.READ, around(RAMBLE + "\n\n")),
    P("rambles after", M.READ, around("", "\n\n" + RAMBLE)),
    P("rambles before and after", M.READ, around(RAMBLE * 3 + "\n", "\n" + RAMBLE * 3)),
    P("[FREE] before", M.READ, around("Slot 3 is [FREE], so I take it.\n")),
    P("[3, 5, 9] before", M.READ, around("Free for me: [3, 5, 9].\n")),
    P("participants=[0, 2, 4] before", M.READ, around("Meeting M1, participants=[0, 2, 4], duration=1\n")),
    P("{see above} before", M.READ, around("As agreed {see above}:\n")),
    P("{} before", M.READ, around("No mail: {}. No moves: [].\n")),
    P("an object of another kind before", M.READ, around('I know {"free": [3, 5, 9], "blocked": {"4": true}} so far.\n')),
    P("one open bracket before", M.READ, around("My notes [1: slot 3, {2: slot 5\n\n")),
    P("one open bracket after", M.READ, around("", "\n\nP.S. [slot 5 would do, {too")),
    P("an open quotation before", M.READ, around("He said \"slot 3 and I don't mind.\n")),
    P("apologises after", M.READ, around("", "\n\nSorry for the short reply! Tell me [politely] if I got it wrong.")),
    P("one line", M.READ, around("Sure! Here is my reply: ", " Hope it helps {really}.")),
    P("numbered list", M.READ, forms.numbered),
    P("Markdown table before", M.READ, forms.table_then_answer),
    P("bold heading", M.READ, around("## Final **reply**\n\n> ", "\n\n---\n")),
    P(
        "German",
        M.READ,
        around("Gerne! Ich schlage [wie besprochen] {vorläufig} Folgendes vor:\n\n", "\n\nMit freundlichen Grüßen"),
    ),
    P("Chinese", M.READ, around("好的，我的空闲时间是【3、5、9】，参与者：[0，2，4]。我的答复：\n", "\n谢谢。")),  # noqa: RUF001
    P("Arabic", M.READ, around("\u200fحسنًا [٣، ٥، ٩]: \u200e", " شكرًا {جزيلاً}")),  # noqa: RUF001
    P("mail", M.READ, forms.mail),
    P("50 kB of prose", M.READ, lambda t: RAMBLE * 200 + "\n\n" + plain(t)),
    P("50 kB after", M.READ, lambda t: plain(t) + "\n\n" + RAMBLE * 200),
    P("20,000 open brackets", M.READ, lambda t: "[" * 10_000 + "{" * 10_000 + "\n\n" + plain(t)),
    P("quotes the turn", M.READ, lambda t: "".join(f"> {line}\n" for line in t.prompt.splitlines()) + "\n" + plain(t)),
    # fences
    P("fence", M.READ, lambda t: fence(plain(t))),
    P("fence without a label", M.READ, lambda t: fence(dumps(t.answer, indent=2), "")),
    P("fence with another label", M.READ, lambda t: fence(plain(t), "javascript")),
    P("fence of tildes", M.READ, lambda t: f"~~~json\n{plain(t)}\n~~~"),
    P("fence that stays open", M.READ, lambda t: f"```json\n{plain(t)}"),
    P("fence with prose around", M.READ, lambda t: f"{RAMBLE}\n{fence(plain(t))}\n{RAMBLE}"),
    P("several fences", M.READ, forms.several_fences),
    P("fence in one line", M.READ, lambda t: f"`{plain(t)}`"),
    # thinking
    P("think tags", M.READ, lambda t: f"<think>{THOUGHT}: {RAMBLE}</think>\n{plain(t)}"),
    P("draft in think tags", M.READ, lambda t: f"<think>Maybe {dumps(t.other)}? No.</think>\n\n{plain(t)}"),
    P("think tag that only closes", M.READ, lambda t: f"Maybe {dumps(t.other)}? {THOUGHT}. No.\n</think>\n\n{plain(t)}"),
    P("thinking tags", M.READ, lambda t: f"<thinking>\nMaybe {dumps(t.other)}? No.\n</thinking>\n{plain(t)}"),
    P("reasoning tags", M.READ, lambda t: f"<reasoning>\nMaybe {dumps(t.other)}? No.\n</reasoning>\n{plain(t)}"),
    P("thinks and says in tags", M.READ, lambda t: f"<think>{THOUGHT}</think><answer>{plain(t)}</answer>"),
    P("think tag that stays open", M.EITHER, lambda t: f"<think>{RAMBLE}\n\n{plain(t)}"),
    P("only thinks", M.SILENT, lambda t: f"<think>{THOUGHT}. I had better ask first.</think>\n"),
    P("only a draft, in thought", M.SILENT, lambda t: f"<think>Maybe {dumps(t.other)}?</think>"),
    P("never stops thinking", M.SILENT, lambda t: f"<think>{THOUGHT}. Wait. " + "Hmm, wait. " * 200),
    P(
        "channels",
        M.READ,
        lambda t: (
            f"<|channel|>analysis<|message|>{RAMBLE}<|end|><|start|>assistant<|channel|>final<|message|>{plain(t)}<|return|>"
        ),
    ),
    # more than one answer
    P("says it twice", M.READ, lambda t: f"{plain(t)}\n{plain(t)}"),
    P("says it twice in fences", M.READ, lambda t: f"Draft:\n{fence(plain(t))}\nFinal:\n{fence(dumps(t.answer, indent=2))}"),
    P("says it twice with other thoughts", M.READ, forms.same_with_other_thoughts),
    P("two answers", M.REFUSED, lambda t: f"{dumps(t.other)}\n{plain(t)}"),
    P("two answers in fences", M.REFUSED, lambda t: f"{fence(plain(t))}\nor\n{fence(dumps(t.other))}"),
    P("list of two answers", M.REFUSED, lambda t: dumps([t.answer, t.other])),
    P("draft, then final", M.EITHER, lambda t: f"Draft: {dumps(t.other)}\nOn second thoughts. Final answer: {plain(t)}"),
    P("draft, then final, in fences", M.EITHER, lambda t: f"Draft:\n{fence(dumps(t.other))}\nFinal answer:\n{fence(plain(t))}"),
    P("draft in prose, final in a fence", M.EITHER, lambda t: f"I could send {dumps(t.other)}, but:\n{fence(plain(t))}"),
    P(
        "quotes another seat",
        M.EITHER,
        lambda t: f"The other one sent me this:\n> {dumps(t.other)}\n\nMy own reply:\n{plain(t)}",
    ),
    P("a key twice", M.EITHER, forms.repeated_key),
    # wrapped
    P("JSON in a string", M.READ, lambda t: dumps(plain(t))),
    P("JSON in a string in an object", M.READ, lambda t: dumps({"answer": plain(t)})),
    P("nested in answer", M.READ, lambda t: dumps({"answer": t.answer})),
    P("nested in response with more", M.READ, lambda t: dumps({"status": "ok", "response": t.answer})),
    P("list of one", M.READ, lambda t: dumps([t.answer])),
    P("XML around JSON", M.READ, lambda t: f'<?xml version="1.0"?>\n<reply><![CDATA[{plain(t)}]]></reply>'),
    P("tags around JSON", M.READ, lambda t: f"<json>\n{plain(t)}\n</json>"),
    P("boxed", M.READ, lambda t: f"\\[ \\boxed{{{plain(t)}}} \\]"),
    P("tool call as JSON", M.READ, lambda t: dumps({"name": "reply", "arguments": t.answer})),
    P(
        "tool call as the API sends it",
        M.READ,
        lambda t: dumps(
            {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "reply", "arguments": plain(t)}}]}
        ),
    ),
    P("tool_call tags", M.READ, lambda t: f"<tool_call>\n{dumps({'name': 'reply', 'arguments': t.answer})}\n</tool_call>"),
    P("call of a function", M.READ, lambda t: f"reply({plain(t)})"),
    P("assignment", M.READ, lambda t: f"reply = {plain(t)};"),
    # broken JSON
    P("trailing commas", M.READ, forms.trailing_commas),
    P("single quotes", M.READ, forms.single_quotes),
    P("Python literal", M.READ, lambda t: repr({**t.answer, "sure": True, "doubt": None})),
    P("comments", M.READ, forms.with_comments),
    P("keys without quotes", M.READ, forms.unquoted_keys),
    P("curly quotes", M.EITHER, forms.curly_quotes),
    P("last brace is missing", M.EITHER, lambda t: plain(t)[:-1]),
    P("one brace too many", M.READ, lambda t: plain(t) + "}"),
    P("cut off", M.REFUSED, forms.cut_off),
    # other types and keys
    P("numbers as strings", M.READ, forms.numbers_as_strings),
    P("numbers as floats", M.READ, forms.numbers_as_floats),
    P("numbers as words", M.EITHER, forms.spelled_numbers, vote=M.READ),
    P("upper-case keys", M.READ, lambda t: dumps(forms.rename(t.answer, str.upper))),
    P("capitalised keys", M.READ, lambda t: dumps(forms.rename(t.answer, str.capitalize))),
    # no JSON at all
    P("prose alone", M.EITHER, forms.as_prose),
    P("Markdown table alone", M.EITHER, forms.as_table),
    P("XML alone", M.EITHER, forms.as_xml),
    P("YAML", M.EITHER, forms.as_yaml),
    P("actions without their object", M.EITHER, forms.as_bare_actions, vote=M.READ),
    P("one action instead of a list", M.EITHER, forms.one_action, vote=M.READ),
    P("list of actions", M.EITHER, forms.as_list_of_actions),
    P("hexadecimal", M.REFUSED, lambda t: plain(t).encode().hex()),
    P("small talk", M.SILENT, lambda t: "Good morning, all! What a day [isn't it]. {smiles}"),
    P("asks back", M.SILENT, lambda t: "Could you tell me which slots [3, 5, 9] are free for the others?"),
    P("the form of a reply", M.SILENT, lambda t: '{"thinking": "for yourself, shown to nobody", "actions": [...]}'),
    # nothing
    P("empty", M.SILENT, lambda t: ""),
    P("white space", M.SILENT, lambda t: " \n\t\r\n \u00a0\u200b"),
    P("refuses", M.SILENT, lambda t: "I'm sorry, but I can't help with that."),
    P("refuses by name", M.SILENT, forms.refusal_with_names),
    P("null", M.SILENT, lambda t: "null"),
    P("empty object", M.REFUSED, lambda t: "{}"),
    P("empty list", M.REFUSED, lambda t: "[]"),
    P("too long", M.REFUSED, lambda t: plain(t) + " " * (1 << 20)),
]

ORATORS: list[Orator] = [
    Orator("plain", True, lambda m: m),
    Orator("brackets", True, lambda m: f"[aside] {m} {{see above}} (participants=[0, 2, 4])"),
    Orator("think tags", True, lambda m: f"<think>{THOUGHT} [draft]</think>{m}"),
    Orator("think tag that only closes", True, lambda m: f"{THOUGHT}, no, wait.</think>\n{m}"),
    Orator("thinking tags", True, lambda m: f"<thinking>{THOUGHT}</thinking>\n\n{m}"),
    Orator("reasoning tags", True, lambda m: f"<reasoning>{THOUGHT}</reasoning>\n{m}"),
    Orator("mail", True, lambda m: f"From: Person 1\r\nTo: [all]\r\nSubject: what I know\r\n\r\n{m}"),
    Orator("fence", True, lambda m: f"```\n{m}\n```"),
    Orator("quotation marks", True, lambda m: f'"{m}"'),
    Orator("own name first", True, lambda m: f"Person 1: {m}"),
    Orator("emoji", True, lambda m: f"🙂 {m} 👩‍👩‍👧"),
    Orator("half of an emoji", True, lambda m: f"\ud83d {m} \ude00"),
    Orator("byte-order mark", True, lambda m: f"\ufeff{m}\r\n"),
    Orator("object in prose", True, lambda m: f'{m} My notes: {{"vote": "none yet", "cites": [1, 2]}}'),
    Orator("50 kB", True, lambda m: f"{m} {RAMBLE * 200}"),
    Orator("several lines", True, lambda m: f"1. {m}\n\n2. More later.\n\n| a | b |\n|---|---|\n| 1 | 2 |"),
    Orator("refuses", True, lambda m: f"I would rather not. But: {m}"),
    Orator("empty", False, lambda m: ""),
    Orator("white space", False, lambda m: " \n\t "),
    Orator("only thinks", False, lambda m: f"<think>{THOUGHT}</think>"),
    Orator("never stops thinking", False, lambda m: f"<think>{THOUGHT}. Hmm, wait. " * 50),
]
