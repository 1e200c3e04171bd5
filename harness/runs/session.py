"""Session that plays a request: finds the tasks, makes and checks the plans, chooses the runtime, and plays plan by plan.

Nothing here prints. Messages to the user go through a `Person`, so that a command line, a test and a service can
all submit a request and get results.
"""

from __future__ import annotations

import logging
import resource
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from harness.agent_factory import AgentPool, Make, keep_logs, listed_price, make_agent
from harness.agents.llm.meter import Meter
from harness.errors import Cancelled, LimitReached, ProviderLost, UsageError, quoted
from harness.interrupts import interrupting
from harness.live_agent import Agent, ReplyCache
from harness.options import is_bent
from harness.plugins import optional
from harness.pod import Runtime
from harness.prices import HINT, Price
from harness.records import Key, Result, RunFolder
from harness.registry import Task
from harness.runs.episode_filter import EVERYTHING, EpisodeChoice
from harness.runs.executors.base import Progress
from harness.runs.executors.sites import HERE, Needed, RunSite
from harness.runs.ledger import RunLedger
from harness.runs.plan import Plan, plans
from harness.runs.request import RunRequest
from harness.runs.run import POLICIES, is_played, recorded_of, run_plan
from harness.runtime_choice import Say
from harness.secrets import public_address
from harness.trust import gate

MOST = 65_536
"""Enough for thousands of pods. Without any limit, some libraries iterate over every possible descriptor below it."""


def allow_many_files() -> None:
    """Raise the limit of this process as far as possible without privileges."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if most == resource.RLIM_INFINITY else min(MOST, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WatchedRun:
    """Facts about a run for a listener, sent before the first episode."""

    episodes: int
    """Number of episodes in the plan."""

    done: tuple[Result, ...]
    """Results of episodes that are not played again."""

    meter: Meter
    folder: Path


@dataclass(frozen=True)
class Person:
    """User who started the run: receives messages and watches episodes."""

    say: Say
    watching: Callable[[WatchedRun], AbstractContextManager[Progress]]
    """Function that creates the listener of a run."""


@dataclass(frozen=True)
class EarlyDecision:
    """Decision of a session that stops early about which player is better."""

    winner: str | None
    document: Mapping[str, Any]
    """For programs."""

    told: str
    """For readers, with the caveat."""


class RunSession:
    """Plans of one request with their folders, ready to be checked and played."""

    def __init__(
        self,
        request: RunRequest,
        tasks: Sequence[Task],
        key: str,
        folder: Path,
        person: Person,
        only: Sequence[str] = (),
        *,
        make: Make | None = None,
        replies: ReplyCache | None = None,
        choice: EpisodeChoice = EVERYTHING,
        command: Sequence[str] = (),
        site: RunSite = HERE,
    ) -> None:
        """Create the plans of a request.

        `only` are the parts to play, if not all; `replies` is the cache of model replies. `choice` selects the episodes to
        play; `command` is what the user typed; `make` creates the agents, also those that the command line cannot, such as
        people on web pages. `site` is where the episodes are played.
        """
        self.request, self.tasks, self.folder, self._person = request, tasks, folder, person
        self.choice, self._command, self._site = choice, command, site
        made = plans(request, tasks, key, folder.name)
        self.plans: Mapping[Path, Plan] = {
            folder if len(only) == 1 else folder / name: plan for name, plan in made.items() if not only or name in only
        }
        # a part that is resumed alone has the limits of the whole run
        ledger = RunLedger(folder.parent if len(only) == 1 and only[0] else folder)
        self.meter, self.replies = Meter(request.limits, ledger.read(), ledger.note), replies
        self._cast = AgentPool(make or partial(make_agent, replies=replies), person.say, self.meter)
        self.agents: list[Agent] = [self._cast.agent(plan.agent, plan.overrides) for plan in self.plans.values()]

    def decided(self) -> EarlyDecision | None:
        """Return which player is better; None, except in a subclass that compares two players and stops early."""
        return None

    def check(self, *, resumed: bool, asks: bool = True) -> None:
        """Check everything that can be wrong before anything starts; raises UsageError. Reports options without effect.

        `asks` is true if models will be called, so that their keys are needed.
        """
        for (folder, plan), agent in zip(self.plans.items(), self.agents, strict=True):
            if not plan.keys:
                raise UsageError(f"shard {plan.shard} has no episode, because the run has only {len(plan.every_key)}")
            for task in plan.tasks:
                plan.options(task)
            if asks and self._site.asks_here:
                agent.check()
            self._check_prices(plan)
            if not resumed and RunFolder(folder).is_planned:
                raise UsageError(f"{folder} already holds a run", hint=f"harness run ... --resume {quoted(folder)}")
        for line in dict.fromkeys(line for plan in self.plans.values() for line in plan.idle()):
            self._person.say(f"warning: {line}")

    def probe(self) -> None:
        """Make a small call to every model that will be called.

        Raises ProviderLost for a model that cannot be reached, and SetupFault for one that does not see the tools that it
        needs.
        """
        if self.meter.reached or not self._site.asks_here:
            return
        for (folder, plan), agent in zip(self.plans.items(), self.agents, strict=True):
            if plan.agent.models and not is_played(plan, RunFolder(folder)):
                agent.probe(tools=not all(task.is_seated for task in plan.tasks))

    @cached_property
    def runtime(self) -> Runtime:
        """Runtime of all episodes, chosen on first access; raises UsageError and the failures of a runtime."""
        runtime = self._site.runtime(self.request.runtime, self.tasks, self.agents, self._person.say)
        for line in gate(self.tasks, trust=False).told(runtime.name):
            self._person.say(line)
        self._check_path(runtime)
        return runtime

    def play(self) -> list[Result]:
        """Choose the runtime, if that is not done yet, and play every plan.

        Raises Cancelled, UsageError, the failures of a runtime, and ProviderLost, which says how to resume.
        """
        allow_many_files()
        runtime, players = self.runtime, tuple((plan.agent, plan.overrides) for plan in self.plans.values())
        needed = Needed(runtime.name, tuple(self.tasks), players)
        try:
            with interrupting(), self._site.opened(needed, self.meter, self._person.say):
                return self._all_played(runtime)
        except ProviderLost as lost:
            lost.hint = "; then ".join(filter(None, (lost.hint, self.resume_line)))
            raise
        except (Cancelled, KeyboardInterrupt):
            begun = any(RunFolder(path).is_planned for path in self.plans)
            raise Cancelled("interrupted", hint=self.resume_line if begun else "") from None
        finally:
            keep_logs(self.request.agents, self.folder)

    def _all_played(self, runtime: Runtime) -> list[Result]:
        return [result for path, plan in self.plans.items() for result in self._played(plan, path, runtime)]

    @property
    def episodes(self) -> int:
        """Number of episodes of the whole run."""
        return sum(len(plan.keys) for plan in self.plans.values())

    @property
    def recorded(self) -> list[Result]:
        """Results on disk of the whole run, graded or not."""
        packer = optional("compact")()
        return [packer.keep(one) for path in self.plans for one in RunFolder(path).results(damaged=[])]

    @property
    def resume_line(self) -> str:
        """Command that resumes this run, with the address of its models and the folder of its reply cache, if any."""
        words = ["harness", "run", "--resume", str(self.folder)]
        # the user must type an address again, because no file may decide where an API key is sent
        address = next((agent.api_base for agent in self.request.agents if agent.api_base), None)
        words += ["--api-base", public_address(address)] if address else []
        words += ["--cache", str(self.replies.folder)] if self.replies else []
        words += self._site.typed
        return shlex.join(words)

    def check_limit(self, results: Sequence[Result]) -> None:
        """Raise LimitReached if a limit left episodes ungraded."""
        lost = self.episodes - sum(result.status == "graded" for result in results)
        if lost and (reached := self.meter.reached):
            flag = reached.partition(" ")[0]
            why = f"{lost} of {self.episodes} episodes are left: {reached}"
            raise LimitReached(why, hint=f"{self.resume_line} {flag} MORE")

    def price(self, plan: Plan, model: str) -> Price | None:
        """Return the token price of a model in a plan; None if it is unknown."""
        return plan.agent.prices.get(model) or listed_price(model)

    def _check_prices(self, plan: Plan) -> None:
        """Raise UsageError if a limit in dollars is set for a model without a known price."""
        limits = {"--max-cost": self.request.limits.cost_usd, "--cost": plan.budget.cost_usd}
        flag = next((flag for flag, limit in limits.items() if limit is not None), None)
        for model in plan.agent.models if flag else ():
            if self.price(plan, model) is None:
                raise UsageError(f"{model} has no known price, so {flag} cannot be enforced", hint=HINT)

    def _check_path(self, runtime: Runtime) -> None:
        bent = any(is_bent(plan.overrides) for plan in self.plans.values())
        if bent and any(agent.needs_main(task, runtime.name) for task in self.tasks for agent in self.agents):
            why = "programs in main connect to the world directly, so --mutate, --handles and --mitigate do not affect them"
            raise UsageError(why, hint="harness run ... --interface tool")

    def _ready(self, plan: Plan, folder: Path, runtime: Runtime) -> Mapping[str, str]:
        """Prepare everything but the episodes: remove resources of dead runs, provide the images, and return the images."""
        _log.info("%s: %s prepares %d tasks ...", folder, runtime.name, len(plan.tasks))
        workers, agent = self.request.workers, self._cast.agent(plan.agent, plan.overrides)
        images = self._site.ready(runtime, plan.tasks, agent, len(plan.keys), workers, self._person.say)
        _log.info("%s: %d episodes by %s, %d at once", folder, len(plan.keys), agent.name, workers)
        return images

    def _left(self, recorded: Mapping[Key, Result]) -> tuple[Result, ...]:
        """Return the recorded results of episodes that are not played again now."""
        return tuple(one for key, one in recorded.items() if not self.choice.takes(key, one))

    def _played(self, plan: Plan, folder: Path, runtime: Runtime) -> list[Result]:
        images = self._ready(plan, folder, runtime)
        if len(self.plans) > 1:
            self._person.say(f"{plan.part}:")
        # read only once, because there may be 100,000 results; no other process overwrites graded ones
        recorded = recorded_of(plan.keys, RunFolder(folder))
        watched = WatchedRun(len(plan.keys), self._left(recorded), self.meter, folder)
        with self._person.watching(watched) as heard:
            return self._run(plan, runtime, folder, images, heard, command=self._command, recorded=recorded)

    def _run(
        self, plan: Plan, runtime: Runtime, folder: Path, images: Mapping[str, str], heard: Progress, **how: Any
    ) -> list[Result]:
        """Play a plan, or with `keys` some of its episodes."""
        return run_plan(
            plan, runtime, RunFolder(folder), workers=self.request.workers, images=images, progress=heard, cast=self._cast,
            breaker=self.request.breaker, choice=self.choice, policies=POLICIES, site=self._site, **how,
        )  # fmt: skip
