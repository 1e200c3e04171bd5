"""The hidden validator: every calendar rebuilt from the log, and nothing in it that the rules contradict.

Boilerplate calendar/3, written by `harness sync`: edits here are lost.
"""

from validators.calendar.claims import test_log_is_true
