"""The table of models, read without importing LiteLLM, and the commands that need no more than it."""

import os
import subprocess
import sys

import pytest

from harness.agents.llm.model_table import KEYS, listed_price, missing_key
from harness.agents.llm.provider import library
from harness.paths import ROOT

SENTINEL = "sk-sentinel-0123456789abcdef"


@pytest.mark.property
def test_a_missing_key_needs_no_litellm(tmp_path):
    """A missing key is reported before LiteLLM, pytest or the modules that play are imported."""
    code = (
        "import sys\nfrom harness.cli import main\ntry:\n    main()\nfinally:\n"
        "    print(sorted({'litellm', 'pytest', 'harness.runs.session'} & set(sys.modules)))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    words = ["run", "presigned-url-download", "--model", "anthropic/claude-sonnet-4-5,gpt-5", "--k", "3"]
    keyed = {**environment, "ANTHROPIC_API_KEY": SENTINEL}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, env=keyed, cwd=tmp_path
    )

    assert (done.returncode, done.stdout) == (2, "[]\n")
    assert done.stderr.startswith("harness: gpt-5 needs OPENAI_API_KEY, which is not set\n")


@pytest.mark.property
def test_planning_needs_no_litellm(tmp_path):
    """A plan with prices is printed without LiteLLM."""
    code = "import sys\nfrom harness.cli import main\ntry:\n    main()\nfinally:\n    print('litellm' in sys.modules)"
    words = [
        "run",
        "presigned-url-download",
        "--model",
        "gpt-5",
        "--dry-run",
        "--max-cost",
        "1",
        "--out",
        str(tmp_path / "run"),
    ]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, cwd=ROOT)

    assert done.returncode == 0, done.stderr
    assert "  gpt-5: $1.25 in, $10 out per million tokens\n" in done.stdout
    assert done.stdout.endswith("False\n")


@pytest.mark.parametrize("name", ["gpt-5", "openai/gpt-5-mini", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"])
def test_table_agrees_with_litellm(name, monkeypatch):
    """The price and the key that the table says are LiteLLM's own."""
    for key in {key for keys in KEYS.values() for key in keys}:
        monkeypatch.delenv(key, raising=False)
    listed, mine = library().get_model_info(name), listed_price(name)

    assert (mine.input, mine.output) == (listed["input_cost_per_token"] * 1e6, listed["output_cost_per_token"] * 1e6)
    assert listed_price("openai/no-such-model") is None
    assert missing_key(name) in library().validate_environment(model=name)["missing_keys"]


@pytest.mark.property
def test_every_key_is_litellms():
    """Of each provider in the table of keys, LiteLLM misses one of the same names."""
    for provider, names in KEYS.items():
        missing = library().validate_environment(model=f"{provider}/any-model")["missing_keys"]
        assert set(missing) <= set(names), provider
