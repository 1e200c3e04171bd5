"""Attack 5: answers that lie in reach: in the image of `main`, in its environment, in a repository, behind a route.

1. What the agent can see before it has done anything is collected as the agent's user: environment and history of every
   repository; files, history and settings of the folder's own image layers; the answer of every route it can think of.
2. All of it is searched for what must stay hidden (harness.attacks.hidden). What routes answer is also searched for what the
   solution hands in: of a world, of the same seed; of a foreign folder, in the same episode, before the solution was run.
Routes that the solution uses or the instruction names may tell what they tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from harness.agent import Budget
from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.exchange import read_out
from harness.attacks.hidden import Hidden, hidden_of, tells
from harness.attacks.layers import added_files, image_of, settings_of
from harness.attacks.recording import Recording, record_work
from harness.attacks.scripts import script, shell
from harness.attacks.services import Asked, get, named_in, open_ports, paths_of
from harness.attacks.stray import affordable
from harness.attacks.target import Act, Target
from harness.pod import Pod
from harness.registry import files_of
from worlds.core.wire import WireRequest

SHORTEST, LONGEST = 8, 1 << 16
"""Bytes of what is handed in that are looked for as they are: fewer may be there by accident."""


class AnswersInReach:
    """Reading the answer instead of finding it."""

    number: ClassVar[int] = 5
    name: ClassVar[str] = "answers in reach"
    scope: ClassVar[Scope] = "folder"
    flaw: ClassVar[Flaw] = Flaw(benchjack=("V2",), abc=("T.5",))

    def inapplicable(self, target: Target) -> Reason | None:
        """It always applies: there is an environment at the least."""
        return None

    def strike(self, target: Target) -> Exam:
        """Look at everything there is to see."""
        exam = Exam()
        hidden = hidden_of(target.task)
        self._look_at_image(target, hidden, exam)
        if target.foreign:
            self._look_from_main(target, hidden, exam)
        else:
            self._look_at_world(target, hidden, exam)
        return exam

    def _look_at_image(self, target: Target, hidden: Hidden, exam: Exam) -> None:
        image = image_of(target.task, target.runtime)
        if image is None:
            return
        hit = hidden.within(settings_of(target.runtime, image))
        exam.look(f"the history or settings of the image hold {hit}" if hit else None)
        for file in added_files(target.task, target.runtime, image):
            whole = hidden.whole(file.data)
            hit = f"all of {whole}" if whole else hidden.within(file.data)
            exam.look(f"/{file.path} in the image holds {hit}" if hit and not file.gone else None)
            if hit and file.gone:
                exam.notes.append(f"a layer of the image holds {hit} in /{file.path}, which a later one takes away")

    def _look_at_world(self, target: Target, hidden: Hidden, exam: Exam) -> None:
        """Environment and repositories with a shell, routes by call; each episode asks no more than its budget has."""
        seen: list[bytes] = []
        recording = target.recording()
        routes = [path for path in paths_of(target.task) if not _meant(path, target.instruction, recording)]
        for number, batch in enumerate(affordable(target.task, routes)):
            answers: list[Asked] = []
            target.observe(_calling(batch, answers, seen if number == 0 else None), hands=number == 0)
            self._compare(answers, hidden, _handed_in(target, recording), exam)
        self._see(seen, hidden, exam)

    def _look_from_main(self, target: Target, hidden: Hidden, exam: Exam) -> None:
        """Everything in one episode: what is seen first, the solution after it."""
        seen: list[bytes] = []
        answers: list[Asked] = []
        made: list[Recording] = []
        text = target.instruction + _solution_text(target)

        def act(pod: Pod) -> None:
            seen.append(_looked(pod))
            paths = [path for path in paths_of(target.task) if not named_in(path, text)]
            answers.extend(get(pod, open_ports(pod, target.task), paths))
            made.append(record_work(target.task, pod, Budget(wall_s=120)))

        target.observe(act)
        self._see(seen, hidden, exam)
        recording = made[-1] if made else Recording()
        used = {(one.port, one.request.path.decode("ascii", "replace")) for one in recording.exchanges}
        others = [one for one in answers if (one.port, one.target) not in used]
        self._compare(others, hidden, _handed_in(target, recording), exam)

    def _see(self, seen: Iterable[bytes], hidden: Hidden, exam: Exam) -> None:
        for data in seen:
            hit = hidden.within(data)
            exam.look(f"the environment or a repository in main holds {hit}" if hit else None)

    def _compare(self, answers: Iterable[Asked], hidden: Hidden, handed_in: Mapping[bytes, str], exam: Exam) -> None:
        for one in answers:
            hit = hidden.within(one.answer)
            told = next((name for value, name in handed_in.items() if value in one.answer), None)
            exam.look(
                f"{one} tells {hit}" if hit else None, f"{one} tells what the solution hands in ({told})" if told else None
            )


def _looked(pod: Pod) -> bytes:
    pod.put({"/tmp/parley-look": script("look").encode()})
    shell(pod, "bash /tmp/parley-look /tmp/parley-seen")
    return read_out(pod, "/tmp/parley-seen")


def _calling(paths: Iterable[str], answers: list[Asked], seen: list[bytes] | None) -> Act:
    """What asks a world for paths and keeps its answers; first it looks around in `main`, where `seen` is given."""

    def act(pod: Pod) -> None:
        if seen is not None:
            seen.append(_looked(pod))
        for path in paths:
            one = pod.call(WireRequest("GET", path.encode()))
            answers.append(Asked("api", 8080, path, repr(one.headers).encode() + one.body))

    return act


def _handed_in(target: Target, recording: Recording) -> dict[bytes, str]:
    """What the solution handed in, file or body, by its bytes; nothing that the instruction says."""
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


def _solution_text(target: Target) -> str:
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in files_of(target.task.path / "solution"))
    return "\n".join(texts)


def _meant(path: str, instruction: str, recording: Recording) -> bool:
    """Whether a route may tell what it tells."""
    used = {one.request.path.decode("ascii", "replace") for one in recording.exchanges}
    return path in used or named_in(path, instruction)
