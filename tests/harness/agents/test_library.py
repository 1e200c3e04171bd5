"""LiteLLM as it is taken in: what it leaves for later is done while its own filters of warnings stand."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import warnings
from harness.agents.llm.provider import library

litellm = library()
warnings.resetwarnings()
warnings.simplefilter("error")
litellm.ModelResponse()
"""


@pytest.mark.property
def test_types_are_finished_at_once() -> None:
    """An answer can be read where warnings are errors, whoever has reset the filters; it once failed as a provider."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", CODE], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
