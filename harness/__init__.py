"""The harness: it opens each task in a sandbox, has an agent play it, and collects the verdict.

`episode` is one episode from beginning to end; `runs` plays many. What is not needed for that is in `parley`.
"""
