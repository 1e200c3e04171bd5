"""The verifier in a sandbox of its own: no network, no agent code, the log as a copy that it cannot change.

It is forked from a template that has imported pytest and the validators, and has seen neither a test nor a log. Hidden tests
that are started as our tasks start them go on from there; others are started by their own test.sh, in the same sandbox.
"""

from __future__ import annotations

from harness.errors import RuntimeFailure, VerifierFailure
from harness.pod import Judgement
from harness.registry import Task
from harness.runtimes.bubblewrap.bounds import entrances, new_group
from harness.runtimes.bubblewrap.environments import Environments
from harness.runtimes.bubblewrap.folders import Folder
from harness.runtimes.bubblewrap.rooms import VERIFIER_MB, verifier_env, verifier_room
from harness.runtimes.bubblewrap.sandbox import Branch, Control, null
from harness.runtimes.bubblewrap.templates import template
from harness.runtimes.recipes import runs_plain_tests

VERDICT_LIMIT = 1 << 20
_SCRIPT = ("bash", "/tests/test.sh")
WARM_TESTS = "validators.warm:main"
"""What the test.sh of our tasks does, for a process that has imported pytest."""


class Judging:
    """One verdict."""

    def __init__(self, task: Task, environments: Environments, log: bytes) -> None:
        self._task, self._environments = task, environments
        self._folder = Folder.make()
        (self._folder.part("state") / "events.jsonl").write_bytes(log)
        (self._folder.part("state") / "events.jsonl").chmod(0o644)
        self._control = Control()
        self._group = new_group(VERIFIER_MB)
        self._sandbox: Branch | None = None

    def run(self) -> Judgement:
        """Run the hidden tests; raises VerifierFailure when they leave no verdict."""
        limit = self._task.file.verifier.timeout_sec
        warm = template(self._environments, "verifier")
        with self._folder.log("verifier.log") as said, null() as nothing, entrances(self._group) as groups:
            fork = verifier_room(self._folder, self._task, len(groups))
            self._control.configure(**fork.config)
            files = [nothing, nothing, said, self._control.far.fileno(), *groups]
            try:
                self._sandbox = warm.fork(fork.fields, self._folder, self._control, files)
                env = verifier_env(self._task.file.verifier.env)
                call = WARM_TESTS if runs_plain_tests(self._task) else ""
                self._control.start("verifier", _SCRIPT, [nothing, said, said], env, "/workspace", call=call)
            except OSError:
                why = self._folder.tail("verifier.log") or warm.last_words()
                raise RuntimeFailure(f"the verifier's sandbox ended: {why}") from None
        code = self._control.ended("verifier", limit)
        why = f"ended with {code}" if code is not None else f"was killed at its limit of {limit:g} s"
        self._sandbox.kill()
        return self._collect(why)

    def kill(self) -> None:
        """Kill it, from any thread."""
        if self._sandbox is not None:
            self._sandbox.kill()

    def close(self) -> None:
        """Kill and remove everything of it; safe to call twice."""
        if self._sandbox is not None:
            self._sandbox.close()
        self._control.close()
        if self._group is not None:
            self._group.remove()
        self._folder.remove()

    def _collect(self, why: str) -> Judgement:
        output = self._folder.tail("verifier.log", VERDICT_LIMIT)
        try:
            reward, verdict = (self._folder.read(f"verdict/{name}.json", VERDICT_LIMIT) for name in ("reward", "verdict"))
        except OSError as error:
            raise VerifierFailure(f"the verifier {why}: {error}: {output[-600:] or 'no output'}") from None
        return Judgement(reward, verdict, output.encode())
