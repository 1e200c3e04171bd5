"""A model plays the real task in Docker, through the real command line, LiteLLM and a local OpenAI-compatible server."""

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.paths import ROOT
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Messages, Script, ScriptedReply, call
from tests.harness.agents.atif import SCHEMA

pytestmark = pytest.mark.docker

TASK = "presigned-url-download"

CAREFUL = r"""
import html, re, sys, httpx
text = sys.stdin.read()
first, last = map(int, re.search(r"characters (\d+) to (\d+)", text).groups())
part = re.search(r"```\n([0-9a-f]+)\n```", text)[1][first - 1:last]
with httpx.Client(base_url="http://api:8080") as api:
    links = re.findall(r'id="part-(\d)" href="([^"]+)">[^<]*</a> \((\d+) s\)', api.get("/task").text)
    token = api.get("/api/precheck").json()["precheck_token"]
    files = {}
    for number, href, _ in sorted(links, key=lambda link: int(link[2])):
        headers = {"X-Seed-Anchor": part, "X-Contract-Proof": part + ":" + token[-8:]}
        files[number] = api.get(html.unescape(href), headers=headers).content
    print(api.post("/submission", content=files["1"] + files["2"] + files["3"]).text)
"""
"""What a careful model types into its shell; the instruction follows on standard input."""


def shell_model(messages: Messages) -> ScriptedReply | str:
    """One command that does it all, then a last word."""
    if any(message["role"] == "tool" for message in messages):
        return "The file is handed in."
    instruction = next(message["content"] for message in messages if "Seed string" in str(message["content"]))
    return call("run", command=f"cat > play.py <<'END'\n{CAREFUL}\nEND\npython3 play.py <<'END'\n{instruction}\nEND")


def tool_model(messages: Messages) -> ScriptedReply | str:
    """Page, precheck, the parts by earliest deadline, submission: each from what the tools answered so far."""
    instruction = next(message["content"] for message in messages if "Seed string" in str(message["content"]))
    seen = [str(message["content"]) for message in messages if message["role"] == "tool"]
    if len(seen) < 2:
        return call("http_request", method="GET", url=("/task", "/api/precheck")[len(seen)])
    links = re.findall(r'id="part-(\d)" href="([^"]+)">[^<]*</a> \((\d+) s\)', seen[0])
    order = sorted(links, key=lambda link: int(link[2]))
    if len(seen) < 5:
        first, last = map(int, re.search(r"characters (\d+) to (\d+)", instruction).groups())
        part = re.search(r"```\n([0-9a-f]+)\n```", instruction)[1][first - 1 : last]
        token = re.search(r'"precheck_token":"([^"]+)"', seen[1])[1]
        headers = {"X-Seed-Anchor": part, "X-Contract-Proof": f"{part}:{token[-8:]}"}
        return call("http_request", method="GET", url=html.unescape(order[len(seen) - 2][1]), headers=headers)
    parts = {number: re.search(r"part \d: \S+\n", answer)[0] for (number, _, _), answer in zip(order, seen[2:5], strict=True)}
    return call("submit", body=parts["1"] + parts["2"] + parts["3"])


@pytest.mark.parametrize(("interface", "play"), [("shell", shell_model), ("tool", tool_model)])
@pytest.mark.parametrize("model", ["gpt-5", "openai/anything"])
def test_three_episodes(interface, play, model, tmp_path):
    """Three attempts succeed, with tokens, price or "no price", tool calls, parameters and a valid trajectory."""
    with OpenAIServer(Script(play=play)) as server:
        arguments = ["run", TASK, "--model", model, "--api-base", server.url, "--k", "3", "--interface", interface]
        done = harness(*arguments, "--runtime", "docker", "--out", str(tmp_path / "run"), "--json")
    report = json.loads(done.stdout)

    assert {"episodes": 3, "success": 3, "mean_reward": 1.0, "ungraded": 0} == report["summary"], done.stderr
    for result in report["episodes"]:
        check_result(result, model, interface)


def check_result(result, model, interface):
    """Everything that a record of a model's episode must say."""
    trajectory = json.loads((Path(result["path"]) / "trajectory.json").read_text(encoding="utf-8"))
    SCHEMA.validate(trajectory)

    assert (model, interface, "docker") == (result["model"], result["interface"], result["runtime"])
    assert result["tool_calls"] == (1 if interface == "shell" else 6)
    assert result["tokens"]["calls"] >= 2
    assert result["tokens"]["prompt"] > 0
    assert ("no price", None) == (result["price"], result["cost_usd"]) if model != "gpt-5" else result["cost_usd"] > 0
    assert result["parameters"]["requested"]["temperature"] == 0
    assert ("temperature" in result["parameters"]["effective"]) == (model != "gpt-5")


def harness(*arguments):
    """Run the command line without any key in the environment."""
    keyless = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments], cwd=ROOT, env=keyless, capture_output=True, text=True, check=False
    )
