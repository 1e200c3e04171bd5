"""The harness: opens each task in a sandbox, lets an agent play it, and collects the verdict.

`harness.episode` runs one episode from beginning to end; `harness.runs` runs many. Everything else is in `parley`.
"""
