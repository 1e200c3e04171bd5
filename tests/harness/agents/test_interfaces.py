"""The two interfaces without a model: prompts, what is shown of an answer, what is refused before anything starts."""

import re
from pathlib import Path

import pytest

from harness.agent import AgentSpec, Budget
from harness.agent_factory import identity_of
from harness.agents.llm.agent import LlmAgent, LlmConfig, system_prompt
from harness.agents.llm.interface import SHOWN, shown_answer, shown_output, target_of
from harness.errors import UsageError
from harness.pod import CommandResult
from harness.registry import Task
from harness.taskfile import TaskFile
from worlds.core.wire import WireResponse

FOREIGN = {"schema_version": "1.4", "task": {"name": "other/signed-link"}}
OURS = {"family": "test", "difficulty": "easy", "budgets": {"steps": 20, "virtual_seconds": 300}}


def task_of(toml=None):
    """A task as its task.toml says."""
    ours = FOREIGN | {"metadata": {"parley": OURS}}
    return Task(Path("/tasks/test/signed-link"), TaskFile.model_validate(toml or ours))


def agent_of(interface, **config):
    """An agent that nobody will ask anything."""
    return LlmAgent(LlmConfig("openai/anything", interface=interface, **config))


def test_target_is_taken_byte_for_byte():
    """What follows the base URL is the target; an empty one is what every client sends."""
    assert [target_of(u) for u in ("/a/../b?x=%2f&&", "http://api:8080/a?b#c", "http://api:8080", "http://api:8080?x")] == [
        "/a/../b?x=%2f&&",
        "/a?b#c",
        "/",
        "?x",
    ]


def test_a_link_of_twelve_kilobytes_is_shown_whole():
    """The cap leaves room for the longest artifact of any task."""
    url = "http://api:8080/" + "a" * 12_000

    assert shown_answer(WireResponse(200, (("x", "y"),), url.encode())).endswith(url)


def test_shell_output_is_cut_with_the_exact_count():
    """A quarter of the front and the rest of the back, counting what the runtime left out already."""
    text = shown_output(CommandResult(0, b"a" * 20_000 + b"z" * 45_536, omitted=1000), 60)
    head, _, tail = text.removeprefix("[exit code 0]\n").partition(f"\n[{1000 + 65_536 - SHOWN} bytes left out]\n")

    assert (head, tail) == ("a" * (SHOWN // 4), "z" * (SHOWN * 3 // 4))


def test_needs_main():
    """Only the shell needs hands, and what cannot work is said before anything starts."""
    tool, shell = agent_of("tool"), agent_of("shell")

    assert (tool.needs_main(task_of(), "inprocess"), shell.needs_main(task_of(), "docker")) == (False, True)
    with pytest.raises(UsageError, match=r"^the shell interface needs a sandbox, and inprocess has none$"):
        shell.needs_main(task_of(), "inprocess")
    with pytest.raises(UsageError, match=r"^signed-link has the interfaces shell, not tool$"):
        tool.needs_main(task_of(FOREIGN), "docker")


@pytest.mark.parametrize(("field", "value"), [("interface", "telepathy"), ("protocol", "morse")])
def test_unknown_choices(field, value):
    """The error lists the valid ones."""
    with pytest.raises(UsageError, match=f"^{field} must be one of .*, not '{value}'$"):
        LlmAgent(LlmConfig("openai/anything", **{field: value}))


@pytest.mark.parametrize("protocol", ["tools", "text"])
@pytest.mark.parametrize("interface", ["tool", "shell"])
def test_prompt_holds_tools_and_budgets_and_nothing_more(interface, protocol):
    """Budgets are named, labels and hints are not; the digest is the same for all tasks and differs by protocol."""
    agent, spec = agent_of(interface, protocol=protocol), AgentSpec(kind="llm", interface=interface, protocol=protocol)
    prompt = system_prompt(agent.interface, agent.speech, task_of(), Budget(turns=17))

    assert all(said in prompt for said in ("20 requests", "300 seconds", "17 times", "http://api:8080"))
    assert ("```json" in prompt) == (protocol == "text")
    assert not re.search(
        r"[A-Z]+_[A-Z_]*(?<!PARLEY_VIRTUAL_TIME)\b|expire|byte for byte|verbatim|exactly as issued|signature", prompt
    )
    assert re.fullmatch("[0-9a-f]{64}", agent.prompt_digest)
    assert identity_of(spec, {}).prompt_digest == agent.prompt_digest


def test_prompt_of_a_foreign_task():
    """A Harbor task of somebody else has a sandbox, and no service, clock or budgets of ours."""
    agent = agent_of("shell")
    prompt = system_prompt(agent.interface, agent.speech, task_of(FOREIGN), Budget(turns=17))

    assert "17 times" in prompt
    assert not re.search("virtual|api:8080|requests", prompt)
