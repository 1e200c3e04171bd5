"""Ask OPTIONS first, which takes no time, name the type for programs, and go straight through; the path is sent as given."""

import base64
import gzip
import re
from collections.abc import Callable

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress, "base64": base64.b64decode, "hex": lambda text: bytes.fromhex(text.decode()),
}  # fmt: skip


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Fetch the document and hand it in."""
    play(api, instruction, wait)


def decoded(body: bytes, encodings: list[str]) -> bytes:
    """The document: what was done last is undone first."""
    for name in reversed(encodings):
        body = DECODERS[name](body)
    return body


def media_type(api: httpx.Client, target: str) -> str:
    """The type for programs."""
    return next(name for name in api.options(target).json()["produces"] if not name.startswith("text/html"))


def get_seconds(instruction: str) -> int:
    """The seconds that a GET takes."""
    seconds = re.search(r"A `GET` takes (\d+) seconds", instruction)
    assert seconds
    return int(seconds[1])


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    accept: Callable[[str, str], str] = lambda step, media_type: media_type,
    tokens: int = 1,
    manifests: int = 1,
    linger: tuple[str, float] = ("", 0),
    fresh_token: bool = False,
    carry: Callable[[str, list[str]], dict[str, str]] = lambda step, given: {"Authorization": f"Bearer {given[-1]}"},
    mangle: Callable[[str], str] = lambda path: path,
    anchor: Callable[[str], dict[str, str]] = lambda part: {"X-Seed-Anchor": part},
    shift: int = 0,
    finish: Callable[[bytes, list[str]], bytes] = decoded,
) -> None:
    """The whole flow, with seams; `linger` waits before a step, `accept` is its Accept, by the type that OPTIONS names."""
    given, kinds = list[str](), dict[str, str]()

    def fetch(step: str, target: str, headers: dict[str, str]) -> httpx.Response:
        if linger[0] == step:
            wait(linger[1])
        kinds[step] = kinds.get(step) or media_type(api, target)
        return api.get(target, headers={"Accept": accept(step, kinds[step]), **headers}).raise_for_status()

    def new_token() -> float:
        answer = fetch("config", "/api/auth-config", {})
        given.append(answer.json()["token"])
        return float(answer.json()["expires_at"]) - float(answer.headers["X-Virtual-Time"])

    life = max(new_token() for _ in range(tokens))
    manifest = {"download_path": "/api/download/document.bin", "encodings": []}
    for _ in range(manifests):
        manifest = fetch("manifest", "/api/resource-manifest", carry("manifest", given)).json()
    # one token does not always last for manifest and download
    if fresh_token or life <= 2 * get_seconds(instruction):
        new_token()
    headers = {**carry("download", given), **anchor(anchor_slice(instruction, shift))}
    document = fetch("download", mangle(manifest["download_path"]), headers)
    api.post("/submission", content=finish(document.content, manifest["encodings"]))
