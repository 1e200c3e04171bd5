"""Deprecated alias of `parley.interop`; removed in the next release."""

import sys
import warnings

import parley.interop

warnings.warn(
    "harness.interop is parley.interop now; the former name goes with the next release", DeprecationWarning, stacklevel=2
)
sys.modules[__name__] = parley.interop
