"""Deprecated alias of `parley.training`; removed in the next release."""

import sys
import warnings

import parley.training

warnings.warn(
    "harness.env is parley.training now; the former name goes with the next release", DeprecationWarning, stacklevel=2
)
sys.modules[__name__] = parley.training
