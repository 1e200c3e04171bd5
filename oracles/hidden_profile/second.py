"""Second solver: CP-SAT, which searches for counterexamples.

One Boolean for each atom; derived atoms and `out` are equivalent to the OR of the AND of their rules' literals. Assertions of
facts are assumptions of one question. An option is excluded if no solution leaves it in. The promise settles an option if some
solution keeps the promise with it in, and none with another. If the rules are incomplete, each option has a further Boolean for
other reasons that may rule it out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from worlds.hidden_profile.rules.scenario import Frame


class FrameSolver:
    """OR-Tools CP-SAT with the same interface, for a scenario or a deck.

    Found worlds are cached and answer later questions that they satisfy. A refuted question refutes every stronger one.
    """

    def __init__(self, frame: Frame) -> None:
        from ortools.sat.python import cp_model  # noqa: PLC0415 - heavy

        self._frame = frame
        self._cp = cp_model
        self._model = cp_model.CpModel()
        self._solver = cp_model.CpSolver()
        self._solver.parameters.num_workers = 1
        self._solver.parameters.random_seed = 1
        # thousands of questions of a millisecond each: preparing a search costs more than the search
        self._solver.parameters.cp_model_presolve = False
        self._solver.parameters.linearization_level = 0
        self._solver.parameters.cp_model_probing_level = 0
        self._solver.parameters.symmetry_level = 0
        self._true: dict[str, Any] = {name: self._model.new_bool_var(name) for name in frame.base_atoms}
        for name in frame.derived_atoms:
            self._true[name] = self._either(name, [self._all(rule.when) for rule in frame.rules if rule.then == name])
        ruled = {
            option: self._either(f"ruled_{option}", [self._all(rule.when) for rule in frame.rules if rule.out == option])
            for option in frame.option_ids
        }
        self._out = {option: self._either(f"out_{option}", [by, *self._outdone(option, ruled)]) for option, by in ruled.items()}
        # a doubted option may be out for a reason outside the rules too
        others = {option: [self._model.new_bool_var("")] if frame.has_open_rules else [] for option in self._out}
        self._gone = {option: self._either("", [out, *others[option]]) for option, out in self._out.items()}
        self._promise = self._model.new_bool_var("promise")
        self._model.add_exactly_one(gone.negated() for gone in self._gone.values()).only_enforce_if(self._promise)
        self._worlds: list[tuple[frozenset[str], frozenset[str], frozenset[str]]] = []
        self._refuted: dict[tuple[str, bool], list[frozenset[str]]] = {}

    def is_consistent(self, known: Collection[str]) -> bool:
        """Return True if the facts hold in some world."""
        return self._possible(self._asserted(known))

    def excluded_options(self, known: Collection[str]) -> frozenset[str]:
        """Return the options that are out in every such world; empty if there is no such world."""
        literals = self._asserted(known)
        if not self._possible(literals):
            return frozenset()
        return frozenset(option for option in self._out if not self._possible(literals, viable=option))

    def settled_option(self, known: Collection[str]) -> str | None:
        """Return the only option that facts and promise leave, or None."""
        literals = self._asserted(known)
        left = [option for option in self._out if self._possible(literals, viable=option, promise=True)]
        return left[0] if len(left) == 1 else None

    def _asserted(self, known: Iterable[str]) -> frozenset[str]:
        return frozenset(literal for fact in known for literal in self._frame.asserted_literals[fact])

    def _possible(self, literals: frozenset[str], viable: str = "", *, promise: bool = False) -> bool:
        """Return True if a world has these literals, with the option `viable` in it, if any, and the promise kept, if asked."""
        for holds, ruled_in, left in self._worlds:
            if (
                literals <= holds
                and (not viable or viable in (left if promise else ruled_in))
                and (not promise or len(left) == 1)
            ):
                return True
        refuted = self._refuted.setdefault((viable, promise), [])
        if any(literals >= fewer for fewer in refuted):
            return False
        assumed = [self._literal(one) for one in sorted(literals)]
        assumed += [(self._gone if promise else self._out)[viable].negated()] if viable else []
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

    def _found(self) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
        """Return the solver's last world: true literals, options that no rule excludes, and options that nothing excludes."""
        truths = {name: self._solver.boolean_value(one) for name, one in self._true.items()}
        ruled_in, left = (
            frozenset(option for option, out in outs.items() if not self._solver.boolean_value(out))
            for outs in (self._out, self._gone)
        )
        return frozenset(name if true else f"!{name}" for name, true in truths.items()), ruled_in, left

    def _literal(self, literal: str) -> Any:
        return self._true[literal[1:]].negated() if literal[0] == "!" else self._true[literal]

    def _all(self, body: Iterable[str]) -> Any:
        """Return a Boolean that is equivalent to the AND of these literals."""
        literals = [self._literal(one) for one in body]
        both = self._model.new_bool_var("")
        self._model.add_bool_and(literals).only_enforce_if(both)
        self._model.add_bool_or([*(one.negated() for one in literals), both])
        return both

    def _either(self, name: str, holds: list[Any]) -> Any:
        """Return a Boolean that is equivalent to the OR of these Booleans."""
        either = self._model.new_bool_var(name)
        for one in holds:
            self._model.add_implication(one, either)
        self._model.add_bool_or([*holds, either.negated()])
        return either

    def _outdone(self, option: str, ruled: dict[str, Any]) -> list[Any]:
        """Return a Boolean for each other option of the tally: no rule excludes it, and it has at least as many points."""
        points = self._frame.tally.points if self._frame.tally else {}
        beaten = []
        for other in points if option in points else ():
            if other == option:
                continue
            lead = self._points(other) - self._points(option)
            ahead = self._model.new_bool_var("")
            self._model.add(lead >= 0).only_enforce_if(ahead)
            self._model.add(lead < 0).only_enforce_if(ahead.negated())
            both = self._model.new_bool_var("")
            self._model.add_bool_and([ahead, ruled[other].negated()]).only_enforce_if(both)
            self._model.add_bool_or([ahead.negated(), ruled[other], both])
            beaten.append(both)
        return beaten

    def _points(self, option: str) -> Any:
        tally = self._frame.tally
        assert tally is not None
        return tally.start.get(option, 0) + sum(worth * self._literal(one) for one, worth in tally.points[option].items())
