"""What this family measures, in the line that catalogues of tasks show."""

LINE = "One agent keeps the contracts of an HTTP API (deadlines, tokens, signatures, retries); judged by the server's log"
