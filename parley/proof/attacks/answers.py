"""Attacks 5 to 7: answers within the agent's reach, and submissions without any work."""

from __future__ import annotations

import json
import re
import shlex
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import IO, NamedTuple

from harness.agent import Budget
from harness.outcome import Outcome
from harness.pod import Pod
from harness.registry import Task, files_of
from harness.runs.plan import parse_seeds
from harness.runtimes.docker.engine.client import Engine
from harness.runtimes.docker.runtime import DockerRuntime
from parley.proof.attacks.base import Exam
from parley.proof.attacks.hidden import Hidden, hidden_of, literals, tells
from parley.proof.attacks.recording import Recording, lines_of, read_out, record_work
from parley.proof.attacks.scripts import script, shell
from parley.proof.attacks.services import Asked, get, named_in, open_ports, paths_of, services_beside
from parley.proof.attacks.target import Act, Target, affordable
from worlds.core.wire import WireRequest

SHORTEST, LONGEST = 8, 1 << 16
"""Range in bytes of the submitted values that are searched for verbatim. Shorter ones may occur by chance."""


def search_answers(target: Target) -> Exam:
    """Attack 5: search for answers in the image or environment of `main`, in a repository, and behind routes.

    1. Everything that the agent can see before it acts is collected as the agent's user: the environment, the history of
       every repository, files, history and settings of the folder's own image layers, and the answers of all likely routes.
    2. The collection is searched for material that must stay hidden (parley.proof.attacks.hidden). Answers of routes are also
       searched for the values that the solution submits. The solution of a world runs in another episode at the same seed; that
       of a foreign folder runs later in the same episode.
    Routes that the solution uses or the instruction names may reveal these values.
    """
    exam = Exam()
    hidden = hidden_of(target.task)
    _look_at_image(target, hidden, exam)
    (_look_from_main if target.foreign else _look_at_world)(target, hidden, exam)
    return exam


def _look_at_image(target: Target, hidden: Hidden, exam: Exam) -> None:
    if not isinstance(target.runtime, DockerRuntime):
        return
    built, engine = target.runtime.prepare([target.task]), target.runtime.engine
    image = built.get(f"{target.task.task_id}:{'main' if target.foreign else 'agent'}")
    if image is None:
        return
    hit = hidden.within(settings_of(engine, image))
    exam.look(f"the history or settings of the image hold {hit}" if hit else None)
    for file in added_files(target.task, engine, image):
        whole = hidden.whole(file.data)
        hit = f"all of {whole}" if whole else hidden.within(file.data)
        exam.look(f"/{file.path} in the image holds {hit}" if hit and not file.gone else None)
        if hit and file.gone:
            exam.notes.append(f"a layer of the image holds {hit} in /{file.path}, which a later layer removes")


def _look_at_world(target: Target, hidden: Hidden, exam: Exam) -> None:
    """Search environment and repositories with a shell, and routes by request, within the budget of each episode."""
    seen: list[bytes] = []
    recording = target.recording()
    used = {one.request.path.decode("ascii", "replace") for one in recording.exchanges}
    routes = [path for path in paths_of(target.task) if path not in used and not named_in(path, target.instruction)]
    for number, batch in enumerate(affordable(target.task, routes)):
        answers: list[Asked] = []
        target.observe(_calling(batch, answers, seen if number == 0 else None), hands=number == 0)
        _compare(answers, hidden, _handed_in(target, recording), exam)
    _see(seen, hidden, exam)


def _look_from_main(target: Target, hidden: Hidden, exam: Exam) -> None:
    """Search a foreign folder in one episode: first look around, then run the solution."""
    seen: list[bytes] = []
    answers: list[Asked] = []
    made: list[Recording] = []
    solution = (path.read_text(encoding="utf-8", errors="replace") for path in files_of(target.task.path / "solution"))
    text = target.instruction + "\n".join(solution)

    def act(pod: Pod) -> None:
        seen.append(_looked(pod))
        paths = [path for path in paths_of(target.task) if not named_in(path, text)]
        answers.extend(get(pod, open_ports(pod, target.task), paths))
        made.append(record_work(target.task, pod, Budget(wall_s=120)))

    target.observe(act)
    _see(seen, hidden, exam)
    recording = made[-1] if made else Recording()
    used = {(one.port, one.request.path.decode("ascii", "replace")) for one in recording.exchanges}
    others = [one for one in answers if (one.port, one.target) not in used]
    _compare(others, hidden, _handed_in(target, recording), exam)


def _see(seen: Iterable[bytes], hidden: Hidden, exam: Exam) -> None:
    for data in seen:
        hit = hidden.within(data)
        exam.look(f"the environment or a repository in main holds {hit}" if hit else None)


def _compare(answers: Iterable[Asked], hidden: Hidden, handed_in: Mapping[bytes, str], exam: Exam) -> None:
    for one in answers:
        hit = hidden.within(one.answer)
        told = next((name for value, name in handed_in.items() if value in one.answer), None)
        exam.look(f"{one} tells {hit}" if hit else None, f"{one} reveals what the solution submits ({told})" if told else None)


def _looked(pod: Pod) -> bytes:
    pod.put({"/tmp/parley-look": script("look").encode()})
    shell(pod, "bash /tmp/parley-look /tmp/parley-seen")
    return read_out(pod, "/tmp/parley-seen")


def _calling(paths: Iterable[str], answers: list[Asked], seen: list[bytes] | None) -> Act:
    """Return an act that requests paths and stores the answers. If `seen` is given, the act first searches `main`."""

    def act(pod: Pod) -> None:
        if seen is not None:
            seen.append(_looked(pod))
        for path in paths:
            one = pod.call(WireRequest("GET", path.encode()))
            answers.append(Asked("api", 8080, path, repr(one.headers).encode() + one.body))

    return act


def _handed_in(target: Target, recording: Recording) -> dict[bytes, str]:
    """Return the names of the files and bodies that the solution submitted, by content, without text of the instruction."""
    handed = (one.request for one in recording.exchanges if one.request.path != b"/clock/wait")
    bodies = {f"{one.method} {one.path.decode()}": one.body for one in handed}
    known = target.instruction.encode()
    values: dict[bytes, str] = {}
    for name, data in {**bodies, **recording.files}.items():
        value = data.strip()
        telling = len(value) >= 2 * SHORTEST or (len(value) >= SHORTEST and (tells(value) or not value.isalpha()))
        if telling and len(value) <= LONGEST and value not in known:
            values[value] = name
    return values


_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)", re.IGNORECASE | re.MULTILINE)
_MOST = 64 << 20
_TAKEN, _OPAQUE = ".wh.", ".wh..wh..opq"


class Added(NamedTuple):
    """A file in a layer; `gone` is True if a later layer removes it."""

    path: str
    data: bytes
    gone: bool = False


def settings_of(engine: Engine, image: str) -> bytes:
    """Return the history and settings of an image."""
    with engine.doing("reading an image's history") as api:
        told = [row.get("CreatedBy", "") for row in api.history(image)]
        return json.dumps([told, api.inspect_image(image)["Config"]], ensure_ascii=False).encode()


def added_files(task: Task, engine: Engine, image: str) -> Iterator[Added]:
    """Yield every regular file, up to 64 MiB, that the folder's Dockerfile adds to its base image.

    Files that a later layer removes are marked: an agent in a container cannot read them, but the image contains them.
    """
    below = _layers_below(task, engine, image)
    with tempfile.TemporaryFile() as file:
        with engine.doing("saving an image") as api:
            for chunk in api.get_image(image):
                file.write(chunk)
        file.seek(0)
        with tarfile.open(fileobj=file) as archive:
            manifest = json.load(_member(archive, "manifest.json"))
            names: list[str] = manifest[0]["Layers"][below:]
            gone = _taken_away(archive, names)
            for place, name in enumerate(names):
                for path, data in _regular(archive, name):
                    above = {path, *map(str, list(PurePosixPath(path).parents)[:-1])}
                    yield Added(path, data, gone=not set().union(*gone[place + 1 :]).isdisjoint(above))


def _layers_below(task: Task, engine: Engine, image: str) -> int:
    """Return the number of layers that belong to the base image."""
    with engine.doing("inspecting an image") as api:
        mine = api.inspect_image(image)["RootFS"]["Layers"]
        dockerfile = task.path / "environment" / "Dockerfile"
        # all layers of an image that a foreign folder names belong to the folder; our own image is a base
        named = [task.file.environment.docker_image or ""] if task.parley else []
        bases = _FROM.findall(dockerfile.read_text(encoding="utf-8", errors="replace")) if dockerfile.is_file() else named
        most = 0
        for base in bases:
            try:
                layers = api.inspect_image(base)["RootFS"]["Layers"]
            except engine.gone:
                continue
            if mine[: len(layers)] == layers:
                most = max(most, len(layers))
    return most


def _taken_away(archive: tarfile.TarFile, names: list[str]) -> list[set[str]]:
    """Return the paths that each layer removes from the layers below it. The path of a folder stands for everything in it."""
    taken: list[set[str]] = []
    for name in names:
        with tarfile.open(fileobj=_member(archive, name)) as layer:
            marks = [PurePosixPath(entry.name) for entry in layer if PurePosixPath(entry.name).name.startswith(_TAKEN)]
        paths = (mark.parent if mark.name == _OPAQUE else mark.with_name(mark.name.removeprefix(_TAKEN)) for mark in marks)
        taken.append({str(path) for path in paths})
    return taken


def _regular(archive: tarfile.TarFile, name: str) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=_member(archive, name)) as layer:
        for entry in layer:
            content = layer.extractfile(entry) if entry.isreg() and 0 < entry.size <= _MOST else None
            if content is not None:
                yield entry.name.removeprefix("./"), content.read()


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    member = archive.extractfile(name)
    assert member is not None, name
    return member


MOST_LITERALS, MOST_JOINED = 4, 400
"""Maximum number of literals with an episode of their own, and of literals that are joined."""

MOST_TURNS = 5000
_LENGTHS = range(2, 200)


class Dummy(NamedTuple):
    """Content to submit."""

    name: str
    content: bytes
    telling: bool = True
    """True if a reward for this content is a hole; otherwise it is a note."""


def submits(target: Target) -> bool:
    """Return True unless a foreign folder has nothing to submit."""
    return not target.foreign or bool(_paths(target))


def hand_in_dummies(target: Target) -> Exam:
    """Attack 6: submit things without any work: empty, a single brace, every option at once, the instruction itself.

    The submission depends on the folder: the body of POST /submission, the reply to every turn of a game, or every declared
    artifact of `main` (without a declaration, every file that the solution makes). Each content has its own episode, since only
    the first submission counts. A single literal of the tests that earns a reward is the answer, or one of a few options. That
    is a note, since an agent that does not know the tests would not find it. A reward for all literals together is also a note,
    unless the instruction names them, because they may be parts of the required text.
    """
    exam = Exam()
    for dummy in dummies(target):
        gained = target.gain(_handed(target, dummy.content))
        exam.blame(f"handed in {dummy.name}", gained if dummy.telling else None)
        if gained and not dummy.telling:
            exam.notes.append(f"submitted {dummy.name}: {gained}")
    return exam


def dummies(target: Target) -> Iterator[Dummy]:
    """Yield the contents to submit for a folder."""
    for content in ("", "{}") if target.task.is_seated else ("", "{}", "[]"):
        yield Dummy(repr(content), content.encode())
    yield Dummy("the instruction", target.instruction.encode())
    options = literals_of_tests(target)
    if len(options) > 1:
        joined = "\n".join(options[:MOST_JOINED])
        yield Dummy(
            f"{len(options)} literals of the tests at once", joined.encode(), all(one in target.instruction for one in options)
        )
    # in a game every turn is answered, and answering all with the right option is real play
    for one in options[: 0 if target.task.is_seated else MOST_LITERALS]:
        yield Dummy(f"{one!r} of the tests", one.encode(), telling=False)


def literals_of_tests(target: Target) -> list[str]:
    """Return the literals of the tests, longest first."""
    tests = files_of(target.task.path / "tests")
    texts = [(path.suffix, path.read_text(encoding="utf-8", errors="replace")) for path in tests if path.name != "Dockerfile"]
    stripped = {one.strip() for suffix, text in texts for one in literals(suffix, text) if len(one.strip()) in _LENGTHS}
    return sorted(stripped, key=lambda one: (-len(one), one))


def _paths(target: Target) -> list[str]:
    """Return the paths of the files to submit."""
    return target.artifacts or sorted(path for path in target.recording().files if not path.startswith("/tmp/"))


def _handed(target: Target, content: bytes) -> Outcome:
    def act(pod: Pod) -> None:
        if target.foreign:
            # as the agent's user, who can only submit files that it may write
            pod.put({"/tmp/parley-dummy": content})
            for path in map(shlex.quote, _paths(target)):
                shell(pod, f"mkdir -p $(dirname {path}); cat /tmp/parley-dummy > {path}")
        elif target.task.is_seated:
            _answer_turns(pod, content)
        else:
            pod.call(WireRequest("POST", b"/submission", body=content))

    return target.strike(act, hands=target.foreign)


def _answer_turns(pod: Pod, content: bytes) -> None:
    """Answer every turn of every seat with this content, with the rights of the host, which answers for all agents."""
    turns = json.loads(pod.call_as_host(WireRequest("GET", b"/turns")).body)["turns"]
    for _ in range(MOST_TURNS):
        if not turns:
            return
        answer = pod.call_as_host(WireRequest("POST", f"/turns/{turns[0]['id']}".encode(), body=content))
        turns = json.loads(answer.body)["turns"]


CARRIED = 8
"""Bytes of a service's answer that must reappear in a submission. Shorter matches may occur by chance."""

STATIC = "static answer"


def plant_answers(target: Target) -> Exam:
    """Attack 7: replay the solution's submission without the work that led to it.

    The solution is recorded once. Other episodes then replay:
    1. only the submission. For a world this is the last request of the solution, at the same seed; for a foreign folder, the
       files that it made. If the environment has a service that the work must use, a reward is a hole. Otherwise the artifact
       itself is the work, and a reward is a note.
    2. all requests and files, in another instance: at the next seed, or in a second episode for foreign folders, which have no
       seeds. A reward is a hole if the submission contains a service's answer from the first instance and is still correct in
       the second. In games every turn is replayed and counts, so a reward there is a note: a folder is one game.
    """
    exam = Exam()
    seeds = parse_seeds(target.task.parley.seeds) if target.task.parley else [0]
    recording = target.recording(seeds[0])
    if recording.note:
        exam.notes.append(recording.note)
    if recording.reward <= target.idle_reward(seeds[0]):
        exam.notes.append("the solution itself earns nothing")
    if target.foreign:
        _plant(target, recording, exam)
    else:
        _replay(target, recording, seeds, exam)
    return exam


def _plant(target: Target, recording: Recording, exam: Exam) -> None:
    kept = {path: data for path, data in recording.files.items() if not path.startswith("/tmp/parley-")}
    served = bool(services_beside(target.task) or recording.listening)
    alone = target.gain(target.strike(lambda pod: pod.put(kept)))
    names = ", ".join(sorted(kept)[:5])
    exam.blame(f"planted {names} alone, without a request to any service", alone if served else None)
    if alone and not served:
        exam.notes.append(f"{STATIC}: the work uses no service, and {names} alone earns the reward")
    if alone or not recording.exchanges:
        return

    def plant_and_resend(pod: Pod) -> None:
        pod.put({**kept, "/tmp/parley-resend": script("resend").encode(), "/tmp/parley-lines": lines_of(recording.exchanges)})
        shell(pod, "python3 /tmp/parley-resend /tmp/parley-lines")
        pod.put(kept)

    again = target.gain(target.strike(plant_and_resend))
    carried = carried_over(target.instruction, recording)
    both = f"{again}; {carried} is right again" if carried and again else None
    exam.blame(f"planted {names} and repeated the earlier requests", both)
    if again and not carried:
        exam.notes.append(f"{STATIC}: the earlier submission is right again, and it contains nothing from a service")


def _replay(target: Target, recording: Recording, seeds: Sequence[int], exam: Exam) -> None:
    sent = [one.request for one in recording.exchanges if one.request.method != "GET"]
    last = target.gain(target.strike(lambda pod: _send(pod, target, sent[-1:]), seed=seeds[0], hands=False), seeds[0])
    named = f"{sent[-1].method} {sent[-1].path.decode()}" if sent else "none"
    exam.blame(f"sent only the last request of the solution, {named}", last)
    if len(seeds) == 1:
        exam.notes.append(f"{STATIC}: the folder has one instance, so its solution is always right")
        return
    every = [one.request for one in recording.exchanges]
    outcome = target.strike(lambda pod: _send(pod, target, every), seed=seeds[1], hands=False)
    gained = target.gain(outcome, seeds[1])
    said = f"repeated at seed {seeds[1]} what the solution sent at seed {seeds[0]}"
    exam.blame(said, None if target.task.is_seated else gained)
    if gained and target.task.is_seated:
        exam.notes.append(f"{STATIC}: {said}: {gained}")


def carried_over(instruction: str, recording: Recording) -> str | None:
    """Return where a submission contains text from an earlier service answer, or None."""
    handed = [*recording.files.items()]
    for place, one in enumerate(recording.exchanges):
        later = [(f"{e.request.method} {e.request.path.decode()}", e.request.target + e.request.body) for e in
                 recording.exchanges[place + 1 :]]  # fmt: skip
        # the whole body and its runs of letters and digits, such as tokens
        for word in (one.answer.body.strip(), *re.findall(rb"[\w+/=.~-]+", one.answer.body)):
            if len(word) >= CARRIED and word.decode("utf-8", "replace") not in instruction:
                where = next((name for name, data in (*handed, *later) if word in data), None)
                if where is not None:
                    return f"the answer of {one.request.path.decode()}, submitted by {where},"
    return None


def _send(pod: Pod, target: Target, requests: Iterable[WireRequest]) -> None:
    for one in requests:
        (pod.call_as_host if target.task.is_seated else pod.call)(one)
