"""The matrix of tasks and mutations: predicted and seen labels, and what value handles heal."""

from __future__ import annotations

import pytest

from harness.registry import Task
from parley.families.contract.authoring.mutations import MUTATIONS, matrix


def test_every_mutation_bites_a_presigned_link(presigned: Task) -> None:
    """Direct pass earns the predicted label of each; by handles all five are harmless."""
    cells = matrix([presigned])

    assert [cell.mutation for cell in cells] == list(MUTATIONS)
    assert {cell.mutation.partition("=")[0]: cell.predicted for cell in cells if cell.bites and cell.ok} == {
        "clip": "MUTATED_TOKEN", "linewrap": "MUTATED_TOKEN", "decode": "MUTATED_TOKEN",
        "resort": "SIGNATURE_MISMATCH", "visible": "WRONG_VALUE",
    }  # fmt: skip
    assert {cell.handled for cell in cells} == {"SUCCESS"}
    assert cells[0].direct == "MUTATED_TOKEN (TOOL_INPUT_TOO_LONG)"


@pytest.mark.parametrize("mutation", ["clip=40000", "visible=40000"])
def test_what_does_not_bite_changes_nothing(presigned: Task, mutation: str) -> None:
    """Where no byte is changed, success is predicted and seen."""
    (cell,) = matrix([presigned], [mutation])

    assert (cell.bites, cell.predicted, cell.direct, cell.ok) == (False, "SUCCESS", "SUCCESS", True)


def test_task_without_long_values(rate_limit: Task) -> None:
    """Requests that hold nothing long or escaped go through every mutation."""
    assert {(cell.bites, cell.direct) for cell in matrix([rate_limit])} == {(False, "SUCCESS")}
