"""Summary of this family for catalogues of tasks, in one line."""

LINE = "One agent keeps the contracts of an HTTP API (deadlines, tokens, signatures, retries); judged by the server's log"
