"""Second witness, and the one for scenarios with too many worlds to list: a solver that is asked for counterexamples.

One Boolean for each atom; derived atoms and `out` are the OR of the AND of their rules' literals, both ways. What facts assert
is assumed for one question at a time: an option is excluded when no solution leaves it in; the promise settles an option when
some solution keeps the promise with it in, and none with another. Beliefs need every world that keeps the promise; the solver
lists them once, up to `COUNT_LIMIT` base atoms; beyond, it finds worlds and does not weigh them (specification, 2.4).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

from oracles.hidden_profile.logic import Beliefs, Exhaustive
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import LIMIT

COUNT_LIMIT = 12


def witness(scenario: Scenario) -> Exhaustive | Solver:
    """The table of worlds where there are few enough, else the solver."""
    return Exhaustive(scenario) if len(scenario.base) <= LIMIT else Solver(scenario)


class Solver:
    """OR-Tools CP-SAT behind the same questions.

    A world once found answers every question that it fits, and a refuted question every one that asserts more.
    """

    subset_limit = 8

    def __init__(self, scenario: Scenario) -> None:
        from ortools.sat.python import cp_model  # noqa: PLC0415 - heavy

        self.scenario = scenario
        self.counts = len(scenario.base) <= COUNT_LIMIT
        self._cp = cp_model
        self._model = cp_model.CpModel()
        self._solver = cp_model.CpSolver()
        self._solver.parameters.num_workers = 1
        self._solver.parameters.random_seed = 1
        self._true: dict[str, Any] = {name: self._model.new_bool_var(name) for name in scenario.base}
        for name in scenario.derived:
            self._true[name] = self._either(f"{name}", [rule.when for rule in scenario.rules if rule.then == name])
        self._out = {
            option: self._either(f"out_{option}", [rule.when for rule in scenario.rules if rule.out == option])
            for option in scenario.option_ids
        }
        self._promise = self._model.new_bool_var("promise")
        self._model.add_exactly_one(out.negated() for out in self._out.values()).only_enforce_if(self._promise)
        self._worlds: list[tuple[frozenset[str], frozenset[str]]] = []
        self._refuted: dict[tuple[str, bool], list[frozenset[str]]] = {}

    def consistent(self, known: Collection[str]) -> bool:
        """Whether there is a world in which the facts hold."""
        return self._possible(self._asserted(known))

    def excluded(self, known: Collection[str]) -> frozenset[str]:
        """The options that are out in every such world; none where there is no such world."""
        literals = self._asserted(known)
        if not self._possible(literals):
            return frozenset()
        return frozenset(option for option in self._out if not self._possible(literals, viable=option))

    def settled(self, known: Collection[str]) -> str | None:
        """The option that facts and promise leave alone, or None."""
        literals = self._asserted(known)
        left = [option for option in self._out if self._possible(literals, viable=option, promise=True)]
        return left[0] if len(left) == 1 else None

    def belief(self, known: Collection[str]) -> Beliefs | None:
        """The ideal listener's chances, from the solutions that keep the promise; None also beyond `COUNT_LIMIT`."""
        if not self.counts:
            return None
        literals = self._asserted(known)
        chances = dict.fromkeys(self._out, Fraction(0))
        for holds, left, mass in self._kept:
            if literals <= holds:
                chances[left] += mass
        total = sum(chances.values())
        return {option: mass / total for option, mass in chances.items()} if total else None

    @cached_property
    def _kept(self) -> list[tuple[frozenset[str], str, Fraction]]:
        """Every solution that keeps the promise: its literals, the option that it leaves in, its prior mass."""
        self._model.clear_assumptions()
        model = self._model.clone()
        model.add_bool_and([model.get_bool_var_from_proto_index(self._promise.index)])
        found = _Listing(self._cp, [*self._true.values()], [*self._out.values()])
        solver = self._cp.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.enumerate_all_solutions = True
        solver.solve(model, found.callback)
        priors = {name: Fraction(str(self.scenario.atoms[name].prior)) for name in self.scenario.base}
        kept = []
        for truths, outs in found.seen:
            world = dict(zip(self._true, truths, strict=True))
            mass = Fraction(1)
            for name, prior in priors.items():
                mass *= prior if world[name] else 1 - prior
            kept.append((_literals(world), list(self._out)[outs.index(False)], mass))
        return kept

    def _asserted(self, known: Iterable[str]) -> frozenset[str]:
        return frozenset(literal for fact in known for literal in self.scenario.by_id[fact].asserts)

    def _possible(self, literals: frozenset[str], viable: str = "", *, promise: bool = False) -> bool:
        """Whether a world has these literals, with an option in it where one is named, and the promise kept where asked."""
        for holds, left in self._worlds:
            if literals <= holds and (not viable or viable in left) and (not promise or len(left) == 1):
                return True
        refuted = self._refuted.setdefault((viable, promise), [])
        if any(literals >= fewer for fewer in refuted):
            return False
        assumed = [self._literal(one) for one in sorted(literals)]
        assumed += [self._out[viable].negated()] if viable else []
        assumed += [self._promise] if promise else []
        self._model.clear_assumptions()
        self._model.add_assumptions(assumed)
        status = self._solver.solve(self._model)
        if status in {self._cp.UNKNOWN, self._cp.MODEL_INVALID}:
            raise RuntimeError(f"the solver gave up on {sorted(literals)}: {self._solver.status_name(status)}")
        if status == self._cp.INFEASIBLE:
            refuted.append(literals)
            return False
        self._worlds.append(self._found())
        return True

    def _found(self) -> tuple[frozenset[str], frozenset[str]]:
        """The solver's last world: the literals that hold in it, and the options that it leaves in."""
        truths = {name: self._solver.boolean_value(one) for name, one in self._true.items()}
        left = frozenset(option for option, out in self._out.items() if not self._solver.boolean_value(out))
        return _literals(truths), left

    def _literal(self, literal: str) -> Any:
        return self._true[literal[1:]].negated() if literal[0] == "!" else self._true[literal]

    def _either(self, name: str, bodies: list[tuple[str, ...]]) -> Any:
        """A Boolean that is true exactly where all literals of some body are."""
        either = self._model.new_bool_var(name)
        holds = []
        for place, body in enumerate(bodies):
            literals = [self._literal(one) for one in body]
            both = self._model.new_bool_var(f"{name}_{place}")
            self._model.add_bool_and(literals).only_enforce_if(both)
            self._model.add_bool_or([*(one.negated() for one in literals), both])
            self._model.add_implication(both, either)
            holds.append(both)
        self._model.add_bool_or([*holds, either.negated()])
        return either


def _literals(truths: dict[str, bool]) -> frozenset[str]:
    return frozenset(name if true else f"!{name}" for name, true in truths.items())


class _Listing:
    """Collects the values of some variables in every solution."""

    def __init__(self, cp: Any, truths: list[Any], outs: list[Any]) -> None:
        self.seen: list[tuple[list[bool], list[bool]]] = []
        seen = self.seen

        class Callback(cp.CpSolverSolutionCallback):  # type: ignore[misc]
            """What the solver calls at each solution; made here because its base is imported late."""

            def on_solution_callback(self) -> None:
                seen.append(([self.boolean_value(one) for one in truths], [self.boolean_value(one) for one in outs]))

        self.callback = Callback()
