"""Keep every nonce and the newest key, number every request, sign what is sent, and go straight ahead."""

import base64
import hashlib
import hmac
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Pairs = dict[str, str]
Answer = dict[str, Any]
BOTH_S = 2
"""What the two requests for a resource take."""

FORM = "application/x-www-form-urlencoded"


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Fetch all resources and hand in the receipt."""
    play(api, instruction, wait)


def parameters(redirect: str) -> Pairs:
    """The parameters of a redirect, decoded."""
    return {name: values[0] for name, values in parse_qs(urlsplit(redirect).query).items()}


def own_redirect(redirects: list[str], state: str) -> Pairs:
    """The parameters of the redirect that answers our request: the one with our state."""
    return next(given for given in map(parameters, redirects) if given["state"] == state)


def own_state(instruction: str) -> str:
    """A state of our own; a solution has no chance of its own, so it comes from the text."""
    drawn = b"".join(hashlib.sha256(f"{number}{instruction}".encode()).digest() for number in range(5))
    return base64.b64encode(drawn).decode()[:198] + "+/"


@dataclass(frozen=True)
class Habits:
    """A seam at every place where a client can go wrong.

    Places are authorize, consent, token, resource and answer (to a challenge). The grant is run `grants` times at first, and
    its first token used; the code is exchanged `exchanges` times; an `undeterred` client goes on with its first token when it
    is refused a second.
    """

    before: Callable[[str, httpx.Client, Wait], object] = lambda place, api, wait: None
    query: Callable[[Pairs], str] = urlencode
    fields: Callable[[str, Pairs], Pairs] = lambda place, fields: fields
    headers: Callable[[str, Pairs, list[str]], Pairs] = lambda place, headers, nonces: headers
    joined: Callable[[str, list[str]], str] = lambda place, parts: "".join(parts)
    key: Callable[[list[str]], bytes] = lambda keys: bytes.fromhex(keys[-1])
    signed: Callable[[bytes], bytes] = lambda body: body
    state: Callable[[str], str] = own_state
    state_again: Callable[[str], str] = lambda state: state
    skip: str = ""
    grants: int = 1
    exchanges: int = 1
    undeterred: bool = False
    choose: Callable[[list[str], str], Pairs] = own_redirect
    order: Callable[[list[str]], list[str]] = lambda paths: paths
    shift: int = 0
    hand_in: Callable[[Answer], str] = lambda last: last["receipt"]


@dataclass
class Session:
    """Sends the requests of a session, each with what its place demands, and keeps what the answers give."""

    api: httpx.Client
    wait: Wait
    habits: Habits
    anchor: str
    state: str
    nonces: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    now: float = 0
    ends: float = math.inf
    grants: int = 0

    def read(self, answer: httpx.Response) -> Answer:
        """An answer's body, with its nonce and key kept; a refusal raises."""
        if answer.status_code != 428:
            answer.raise_for_status()
        got: Answer = answer.json()
        self.nonces.append(got["session_nonce"])
        self.keys += [got["signing_key"]] if "signing_key" in got else []
        self.now = float(answer.headers["X-Virtual-Time"])
        self.ends = self.now + got["expires_in"] if "expires_in" in got else self.ends
        return got

    def send(self, place: str, method: str, path: str, body: bytes = b"", **more: str) -> Answer:
        """The answer to one request."""
        given = {"X-Session-Nonce": self.nonces[-1], "X-Request-Sequence": str(len(self.nonces)), **header_names(more)}
        given["X-Auth-Proof"] = f"{self.anchor}:{self.state[-8:]}"
        if method == "POST":
            signed = self.habits.signed(body)
            given["X-Body-Signature"] = hmac.new(self.habits.key(self.keys), signed, hashlib.sha256).hexdigest()
        self.habits.before(place, self.api, self.wait)
        headers = self.habits.headers(place, given, self.nonces)
        return self.read(self.api.request(method, path, content=body, headers=headers))

    def proof(self, place: str, *parts: str) -> str:
        """The digest that a place demands."""
        return hashlib.sha256(self.habits.joined(place, list(parts)).encode()).hexdigest()


def play(api: httpx.Client, instruction: str, wait: Wait, **changed: Any) -> None:
    """The whole flow, with some habits changed."""
    habits = Habits(**changed)
    line = Session(api, wait, habits, anchor_slice(instruction, habits.shift), habits.state(instruction))
    opened = line.read(api.get("/oauth/discover"))
    ours = {**read_client(instruction), "session_id": opened["session_id"]}
    authorization, *_ = [granted(line, ours) for _ in range(habits.grants)]
    last: Answer = {}
    for path in habits.order(opened["resources"]):
        if round(line.ends - line.now, 3) <= BOTH_S:
            authorization = granted(line, ours)
        challenge = line.send("resource", "GET", path, authorization=authorization)["challenge"]
        answer = line.proof("answer", *line.nonces, challenge, line.anchor)
        last = line.send("answer", "GET", path, authorization=authorization, x_cumulative_proof=answer)
    api.post("/submission", content=habits.hand_in(last))


def granted(line: Session, ours: Pairs) -> str:
    """An access token, as a header: authorize, consent, and the exchange of the code that answers this request."""
    habits = line.habits
    line.state = state = habits.state_again(line.state) if line.grants else line.state
    line.grants += 1
    asked = {"response_type": "code", **ours, "state": state}
    target = f"/authorize?{habits.query(habits.fields('authorize', asked))}"
    nonce = "" if habits.skip == "authorize" else line.send("authorize", "GET", target)["consent_nonce"]
    consent = habits.fields("consent", {"consent_proof": line.proof("consent", nonce, state)})
    code = ""
    if habits.skip != "consent":
        redirects = line.send("consent", "POST", "/oauth/consent", json.dumps(consent).encode())["redirects"]
        code = habits.choose(redirects, state)["code"]
    exchange = {"grant_type": "authorization_code", "code": code or "none-yet"}
    exchange |= {name: ours[name] for name in ("redirect_uri", "client_id")}
    exchange["binding_proof"] = line.proof("token", code, nonce, state)
    form = urlencode(habits.fields("token", exchange)).encode()
    tokens = ["none-yet"]
    for _ in range(habits.exchanges):
        try:
            tokens.append(line.send("token", "POST", "/token", form, content_type=FORM)["access_token"])
        except httpx.HTTPStatusError:
            if not habits.undeterred:
                raise
    return f"Bearer {tokens[-1]}"


def header_names(given: Pairs) -> Pairs:
    """Header names from argument names."""
    return {name.replace("_", "-").title(): value for name, value in given.items()}


def read_client(instruction: str) -> Pairs:
    """Client id and redirect URI."""
    client = re.search(r"`client_id` \(`([^`]+)`\)", instruction)
    redirect = re.search(r"`REDIRECT` is `([^`]+)`", instruction)
    assert client
    assert redirect
    return {"client_id": client[1], "redirect_uri": redirect[1]}
