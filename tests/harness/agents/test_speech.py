"""Actions in plain text: tolerant of form, strict about ambiguity."""

import pytest

from harness.agent import Usage
from harness.agents.llm.agent import ToolFormat
from harness.agents.llm.completion import Completion

LS = '{"tool": "run", "arguments": {"command": "ls"}}'


def actions(text):
    """What the model is understood to want."""
    return ToolFormat("text").actions(Completion(text, {}, Usage()), 3)


@pytest.mark.parametrize(
    "text",
    [
        f"I look first.\n```json\n{LS}\n```",
        f"```json\n{LS}\n```\nThen I go on.",
        f"```\n{LS}\n```",
        f"```JSON\n  {LS}  \n  ```",
        f"```tool_call\n{LS}\n```",
        f"```json\n{LS}",
        f"```json\n{LS}\n```\nthat is\n```json\n{LS}\n```",
        f"<think>[1] or {LS.replace('ls', 'pwd')}</think>I call {LS}",
        '{"tool": "run", "arguments": "{\\"command\\": \\"ls\\"}"}',
        LS,
        f"\n {LS} \n",
        '```json\n{"tool": "run",\n "arguments": {\n "command": "ls"}}\n```',
        f"```python\nprint(1)\n```\n```json\n{LS}\n```",
    ],
)
def test_one_action(text):
    """All these are the same action."""
    assert [(a.call_id, a.tool, a.arguments, a.problem) for a in actions(text)] == [("text_3", "run", {"command": "ls"}, "")]


@pytest.mark.parametrize("text", ["", "Done.", "```python\nprint(1)\n```", '```json\n{"total": 3}\n```', "```\nnot json\n```"])
def test_plain_answers(text):
    """No action: a plain answer, even with other blocks in it."""
    assert actions(text) == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"```json\n{LS}\n```\nthen\n```json\n{LS.replace('ls', 'pwd')}\n```", "it holds two different answers"),
        ('```json\n{"tool": "run", "arguments": {"command": "ls"}\n```', "is not JSON"),
        ('```\n{"tool": "run", \n```', "is not JSON"),
        ('```json\n{"tool": 3}\n```', "tool must be a name"),
        ('```json\n{"tool": "run", "arguments": "ls"}\n```', "tool must be a name and arguments an object"),
    ],
)
def test_mistakes_are_told(text, problem):
    """Nothing is guessed: the action carries the problem and the raw text."""
    [action] = actions(text)

    assert problem in action.problem
    assert "_raw" in action.arguments


def test_a_backtick_fence_inside_a_string():
    """A command that holds a fence of its own, on one line of JSON, is still one action."""
    inside = '{"tool": "run", "arguments": {"command": "echo \'```\'"}}'

    assert [a.arguments for a in actions(f"```json\n{inside}\n```")] == [{"command": "echo '```'"}]
