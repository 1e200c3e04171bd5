"""The first call: does a server answer, does it accept the key, does it know the model."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace

from harness.agents.doctor.examination import Examination
from harness.agents.llm.failures import CallFailure, Denied, NoApi, Refused, Transient, Unconnected
from harness.agents.llm.model import ModelClient
from harness.agents.llm.probing import PROBE
from harness.agents.llm.provider import public_address
from harness.errors import HarnessError

_UNKNOWN_MODEL = re.compile(
    r"model\b.{0,80}(?:not found|not exist|unknown|invalid)|(?:unknown|no such|invalid) model", re.IGNORECASE
)


def connect(tried: Examination) -> bool:
    """Make the first call, with another model where the server does not know this one; False where no run can work."""
    try:
        tried.first = tried.call(PROBE)
    except CallFailure as failure:
        if _is_about_model(failure) and (_renamed(tried) or _readdressed(tried)):
            return connect(tried)
        told = _told(tried.client, failure)
        tried.diagnosis.rule_out(_check(failure), str(told), told.hint or "see the log of the server")
        return False
    tried.diagnosis.add("reachable", "yes", "a first small call was answered")
    tried.diagnosis.add("key", "yes", "accepted")
    return True


def _renamed(tried: Examination) -> bool:
    """Replace the model by the one that the server has, or that is called alike; False where there is none."""
    wanted = tried.wire.model
    names = list(tried.wire.models())
    near = names if len(names) == 1 else difflib.get_close_matches(wanted, names, n=1)
    if wanted in names or not near:
        return False
    name = tried.client.name.removesuffix(wanted) + near[0]
    tried.diagnosis.add("model", "no", f"the server has no model {wanted!r}, but {near[0]!r}", f"--model {name}")
    tried.diagnosis.model = name
    tried.client = ModelClient(replace(tried.client.settings, name=name), say=tried.client.say)
    return True


def _readdressed(tried: Examination) -> bool:
    """Append /v1 to an address where the list of models is found there; False where it is not."""
    base = tried.client.settings.api_base
    if base is None or tried.wire.models() or not tried.wire.models("/v1/models"):
        return False
    base = f"{base.rstrip('/')}/v1"
    tried.diagnosis.add("address", "no", f"the API is at {public_address(base)}", f"--api-base {public_address(base)}")
    tried.diagnosis.api_base = base
    tried.client = ModelClient(replace(tried.client.settings, api_base=base), say=tried.client.say)
    return True


def _is_about_model(failure: CallFailure) -> bool:
    if isinstance(failure, Denied):
        return failure.why == "model"
    return isinstance(failure, Refused) and _UNKNOWN_MODEL.search(str(failure)) is not None


def _check(failure: CallFailure) -> str:
    if isinstance(failure, Denied):
        return "model" if failure.why == "model" else "key"
    return "reachable"


def _told(client: ModelClient, failure: CallFailure) -> HarnessError:
    """The failure as `harness run` would report it."""
    if isinstance(failure, Unconnected):
        return client.telling.never_there(failure)
    if isinstance(failure, Transient):
        return client.telling.not_ready(failure)
    return client.telling.refused(failure) if isinstance(failure, Refused) else HarnessError(str(failure))
