"""Tries out all that sandboxes need of this host: a network of one's own, loopback, mounts, a uid drop, a limit, an answer.

A program in `main`'s sandbox, in a pod forked from a template of nothing, connects to a port of its own and says who it is.
Whatever is refused here (no bwrap, user namespaces forbidden, no /proc) is refused to every episode.
"""

from __future__ import annotations

import json

from harness.errors import RuntimeFailure
from harness.runtimes.bubblewrap.environments import Environments
from harness.runtimes.bubblewrap.folders import Folder, folders_root
from harness.runtimes.bubblewrap.rooms import BASE_ENV, POD, PROCESSES, main_room
from harness.runtimes.bubblewrap.sandbox import Branch, Control, null
from harness.runtimes.bubblewrap.templates import Template
from harness.runtimes.bubblewrap.view import bwrap

LIMIT_S = 20.0
_PROGRAM = """
import json, os, resource, socket
with socket.create_server(("api", 8080)) as server, socket.create_connection(("api", 8080)):
    pass
open("/workspace/written", "w").close()
print(json.dumps([os.getuid(), resource.getrlimit(resource.RLIMIT_NPROC)[0]]))
"""


def try_out(environments: Environments) -> None:
    """Run one program as an agent's are run; raises RuntimeFailure with the first thing that did not work."""
    bwrap()
    folder, outer, main = Folder.make(), Control(), Control()
    origin: Template | None = None
    sandbox: Branch | None = None
    try:
        room = environments.bare("agent", folder.part("no-packages"))
        origin = Template(room, (), folders_root(), environments.folder)
        with folder.log("sandbox.log") as said, folder.log("program.log") as log, null() as nothing:
            outer.configure()
            sandbox = origin.fork(POD, folder, outer, [nothing, nothing, said, outer.far.fileno()])
            start = main_room(folder, room, None, groups=0)
            main.configure(**start.config)
            files = [nothing, nothing, said, main.far.fileno()]
            outer.start("main", start.argv, files, {}, mounts=start.mounts, on_host=True)
            main.far.close()
            main.start("program", ["python3", "-I", "-c", _PROGRAM], [nothing, log, said], BASE_ENV)
        main.ended("program", LIMIT_S)
        _check(folder.tail("program.log"), folder.tail("sandbox.log") or origin.last_words())
    except BrokenPipeError:
        complaint = folder.tail("sandbox.log") or (origin.last_words() if origin else "")
        raise RuntimeFailure(complaint or "bwrap ended at once") from None
    finally:
        if sandbox is not None:
            sandbox.close()
        for control in (outer, main):
            control.close()
        if origin is not None:
            origin.close()
        folder.remove()


def _check(answer: str, complaint: str) -> None:
    try:
        user, processes = json.loads(answer)
    except ValueError:
        raise RuntimeFailure(complaint.splitlines()[-1] if complaint else "a sandboxed program gave no answer") from None
    if user == 0 or processes > PROCESSES:
        raise RuntimeFailure(f"a sandboxed program ran as user {user} with a limit of {processes} processes")
