"""Tables of plain text: aligned, never wider than the page, and no name broken in its middle."""

from __future__ import annotations

from rich.cells import cell_len

from harness.tables import laid_out
from parley.tables import keys

HEADER = ["Rank", "Model", "Set-up", *(f"Claude Opus {n} (published)" for n in range(6))]
ROWS = [
    [str(n), f"vendor/a-long-model-name-{n}", "shell, temperature=0.7, turns=40, budget of sixty seconds", *["0.50"] * 6]
    for n in range(3)
]


def told(width: int | None) -> list[str]:
    """The lines of that table."""
    return [line.text for line in laid_out(HEADER, ROWS, width)]


def test_in_a_pipe_a_row_is_a_line() -> None:
    """Columns begin at one place, numbers end at one, and nothing is a tab."""
    head, *rows = told(None)

    assert len(rows) == 3
    assert {row.index("shell") for row in rows} == {head.index("Set-up")}
    assert len({len(row) for row in (head, *rows)}) == 1
    assert "\t" not in head


def test_on_a_narrow_page_columns_are_stacked() -> None:
    """At 80 cells no line is longer, every name is whole in every block, and every value is there."""
    lines = told(80)
    blocks = "\n".join(lines).split("\n\n")

    assert max(map(cell_len, lines)) <= 80
    assert len(blocks) > 1
    assert all(f"vendor/a-long-model-name-{n}" in block for block in blocks for n in range(3))
    assert sum(line.split().count("0.50") for line in lines) == 18
    assert {line.text for line in laid_out(HEADER, ROWS, 80) if line.is_head} & {lines[0]}


def test_a_word_wider_than_the_page_is_cut() -> None:
    """Nothing else can be done with it, and all of it is shown."""
    (_, *rows) = [line.text for line in laid_out(["a"], [["x" * 70]], 30)]

    assert [30, 30, 10] == [len(row) for row in rows]


def test_wide_letters_are_counted_by_cells() -> None:
    """Two cells a letter of Chinese, none for a joining mark."""
    lines = [line.text for line in laid_out(["name", "n"], [["世界", "1"], ["e\u0301", "2"]], None)]

    assert len({cell_len(line) for line in lines}) == 1


def test_what_names_a_row() -> None:
    """The columns up to the first text, and more where that does not tell rows apart."""
    assert 2 == keys([["1", "a", "x"], ["2", "b", "x"]])
    assert 2 == keys([["a", "x", "1"], ["a", "y", "1"]])
    assert 1 == keys([["a", "1"], ["a", "2"]])
