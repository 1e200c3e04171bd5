"""Parley in Inspect: `inspect eval parley_inspect/parley -T family=contract -T seeds=0-2 --model MODEL`."""

from parley_inspect.scorer import parley_scorer
from parley_inspect.solver import parley_solver
from parley_inspect.stopping import UntilClear
from parley_inspect.task import parley

__all__ = ["UntilClear", "parley", "parley_scorer", "parley_solver"]
