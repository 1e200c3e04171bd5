"""Which mutants a file has: each operator makes the change that its name says, and what only words things stays as it is."""

from __future__ import annotations

import ast

import pytest

from parley.proof.mutants.operators import drawn
from parley.proof.mutants.targets import mutants_of


def changed(source: str) -> dict[str, str]:
    """By operator, the text with that change; of several by one operator the last."""
    return {m.operator: m.applied(source.encode()).decode() for m in mutants_of("a.py", source.encode())}


@pytest.mark.parametrize(
    ("source", "operator", "becomes"),
    [
        ("x = a < b", "compare-negated", "x = (a >= b)"),
        ("x = a < b", "compare-boundary", "x = (a <= b)"),
        ("x = a <= b < c", "compare-boundary-2", "x = (a <= b <= c)"),
        ("if ready: go = now", "condition-negated", "if (not ready): go = now"),
        ("x = not a", "not-dropped", "x = (a)"),
        ("x = a and b", "bool-swapped", "x = (a or b)"),
        ("x = f(weak=True)", "bool-flipped", "x = f(weak=False)"),
        ("def f():\n    raise E", "raise-dropped", "def f():\n    pass"),
        ("self.check(a)", "call-dropped", "pass"),
        ("self.a = b", "assignment-dropped", "pass"),
        ("assert a", "assert-dropped", "pass"),
        ("from v import test_a, test_b", "claim-dropped-test_a", "from v import test_b"),
        ("from v import test_a", "claim-dropped-test_a", "pass"),
        ("f(lambda: a, lambda: b)", "argument-dropped-1", "f(lambda: b)"),
        ("x = a[3]", "number-plus", "x = a[4]"),
        ("x = a + b", "arithmetic-swapped", "x = (a - b)"),
        ("x = self.knob_ms('w')", "window-widened", "x = (self.knob_ms('w') * 10)"),
        ("x = self.chance('a')", "draw-unseeded", "x = __seedless__(self.chance)('a')"),
        ("x = min(a, b)", "call-swapped", "x = max(a, b)"),
        ("x = Label.WRONG_HASH", "label-changed", "x = Label.OTHER"),
    ],
)
def test_each_operator_makes_its_mistake(source: str, operator: str, becomes: str) -> None:
    """The text with a change is the one that the operator's name says, and is Python."""
    assert becomes == changed(source)[operator]
    ast.parse(becomes)


def test_a_world_may_accept_anything() -> None:
    """A contract world gets a judge that takes any submission, and one that overlooks white space."""
    world = "class A(ContractWorld):\n    x = self\n"

    assert {"submission-any", "submission-stripped"} == set(changed(world))
    assert changed(world)["submission-any"].startswith(world.rstrip())
    assert all(ast.parse(text) for text in changed(world).values())


def test_words_are_left_alone() -> None:
    """Of a refusal only the label is changed; formatted texts, sizes of secrets, annotations and decorators not at all."""
    refusal = 'def f():\n    raise Violation(Label.OTHER, f"{3 + 1} of {n}", also=1)\n'
    rest = '@get("/a", cost=3)\ndef f(a: tuple[3] = x) -> T[1]:\n    """7"""\n    return f"{1 + 2}" or d.hex(d.below(2))\n'
    paired = "x = zip(a, b, strict=True)\n"

    assert {"raise-dropped", "label-changed"} == set(changed(refusal))
    assert {"bool-swapped"} == set(changed(rest))
    assert changed(paired) == {}


RANGES = [
    "x = draw.between(LOW + 3, min(9, round(self.knob('most'))))",
    "x = draw.sample(range(1, 10), 2)",
    "x = draw.hex(draw.between(-3, 8))",
    "x = 3 + draw.below(SHORT)",
    "LIVES_S = ((20, 32), (45, 2 * 60))",
    "SIZES, NAME = {'1k': 640}, 'a'",
]


@pytest.mark.parametrize("source", RANGES)
def test_numbers_that_are_a_choice_are_left_alone(source: str) -> None:
    """Numbers of a draw, what is added to a drawn number, and a table of numbers at the top are no mistakes with one more."""
    elsewhere = {mutant.operator for mutant in mutants_of("a.py", source.encode(), draws=False)}

    assert not {"number-plus", "argument-dropped-1", "call-swapped", "arithmetic-swapped"} & changed(source).keys()
    assert "number-plus" in elsewhere


def test_a_draw_may_be_divided_away() -> None:
    """Of a sum of knob and draw the sign is a choice, what scales the draw is not."""
    by = changed("x = self.knob_ms('w') - 1000 * draw.below(8)")

    assert by["arithmetic-swapped"] == "x = self.knob_ms('w') - (1000 // draw.below(8))"


@pytest.mark.parametrize(
    ("source", "operator"),
    [
        ("x = draw.choice((1, -1))", "number-plus"),
        ("x = draw.choice([n for n in rows if n != max(rows)])", "call-swapped"),
        ("x = draw.sample([f'{n}' for n in range(256)], count)", "number-plus"),
        ("x = draw.between(0, len(text) - 4)", "arithmetic-swapped"),
        ("x = draw.between(0, len(text) - 4)", "number-plus"),
        ("x = draw.choice(rows[1:])", "number-plus"),
        ("x = 1000 * draw.below(8)", "number-plus"),
        ("x = round(self.manifest.budgets.virtual_seconds) + draw.below(8)", "arithmetic-swapped"),
    ],
)
def test_what_may_be_drawn_is_no_choice(source: str, operator: str) -> None:
    """Signs, conditions on what may be drawn, where a text or a list ends, units and budgets are changed as all else is."""
    assert operator in changed(source)


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    x = 1000 * n",
        "x = self.now + self.knob_ms('w') - 3",
        "SIGNS = {'debit': -1}",
        "LOST = [(504, 'gateway'), (201, b'')]",
        "if draw.between(1, 3) > 2: x = y",
        "x = f(2)",
    ],
)
def test_other_numbers_are_changed(source: str) -> None:
    """What a handler computes with, a sign, a status beside its text, what a draw is compared with, an argument."""
    assert "number-plus" in changed(source)


def test_a_sum_with_something_else_is_changed() -> None:
    """A draw that is added to what the episode has come to is no range."""
    assert "x = (seq - draw.between(1, 3))" == changed("x = seq + draw.between(1, 3)")["arithmetic-swapped"]


def test_an_id_is_a_place_and_an_operator() -> None:
    """Ids are unique, and a key stays as it is when the line moves."""
    source = b"def f():\n    return a < 3 and b < 3\n"
    moved = b"\n\n" + source
    before, after = mutants_of("a.py", source), mutants_of("a.py", moved)

    assert before[0].id == "a.py:2:11:bool-swapped"
    assert len({m.id for m in before}) == len(before)
    assert [m.key for m in before] == [m.key for m in after]
    assert not {m.id for m in before} & {m.id for m in after}


def test_lines_that_reach_a_change() -> None:
    """A change in a statement over several lines is reached by any of them, one in the head of an `if` by the head alone."""
    source = b"def f():\n    g(\n        a < 3,\n    )\n    if a < 4:\n        b()\n"
    reach = {m.was: (m.first, m.last, m.at_import) for m in mutants_of("a.py", source) if m.operator == "compare-negated"}

    assert {"a < 3": (2, 4, False), "a < 4": (5, 5, False)} == reach
    assert all(m.at_import for m in mutants_of("a.py", b"A = 3\nclass B:\n    c = 4\n"))


def test_a_draw_hangs_on_names_alone() -> None:
    """A draw keeps the order of the text, and what is drawn from fewer is drawn from more as well where it is there."""
    every = mutants_of("a.py", "".join(f"x{n} = a[{n}]\n" for n in range(40)).encode())
    few = drawn(every, 5)

    assert few == sorted(few, key=every.index)
    assert drawn(every, 5) == few
    assert set(drawn(few, 3)) == set(drawn(every, 3))
