"""Program that serves one model over the OpenAI API: `python local_server.py MODEL.gguf CONTEXT THREADS`.

It prints its address, logs to stderr, and ends when its stdin is closed, so it never outlives the process that started it.
It runs alone in its own process and imports nothing of the harness.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Serve the model until stdin is closed."""
    from xllamacpp import CommonParams, Server  # noqa: PLC0415 - an extra; the harness imports this module without it

    # llama.cpp may log to stdout as well, and the parent reads one line there
    address = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    path, context, threads = sys.argv[1:]
    params = CommonParams()
    params.model.path, params.model_alias = path, {"local"}
    params.n_ctx, params.n_parallel, params.port, params.ui = int(context), 1, 0, False
    for pool in (params.cpuparams, params.cpuparams_batch):
        # spinning threads starve each other if the machine has other work
        pool.n_threads, pool.poll = int(threads), 0
    server = Server(params)
    print(server.listening_address, file=address, flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
