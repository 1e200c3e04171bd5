"""Deprecated alias of `parley.testing`; removed in the next release."""

import sys
import warnings

import parley.testing

warnings.warn(
    "harness.testing is parley.testing now; the former name goes with the next release", DeprecationWarning, stacklevel=2
)
sys.modules[__name__] = parley.testing
