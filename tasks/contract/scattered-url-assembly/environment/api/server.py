"""A long URL in four fragments, told to the agent once: join them in the right order and lose no byte over four bulky steps.

A presigned target (`worlds.contract.presigned`) is cut into a head, four fragments and a tail, each cut at the same place
inside a percent-encoded octet (RFC 3986, section 2.1): no fragment looks whole at its ends, and all of them fit together in
any order. The instruction shows the fragments in any order under letters, with noise between them; each of four steps tells, in
some 3 KB of noise, the place of one letter. The last gives a nonce. No endpoint serves the URL: it must pass through whoever
acts on the instruction. The option `tier` sets its length, for a score that is a curve over 2k, 4k and 8k; solution/solve.py
joins what the instruction prints, and passes at each tier.
Time: every request costs 10 s. The nonce lasts 45 to 55 s from step 4, by seed (upstream: 140), and the URL 96 s from the
start, which is longer: straight on, the nonce is used at its age of 10 s and the URL at 50 s. Asking for a step again gives the
same answer and no more time. So three steps more can be read after the fourth, and never five; before it four, and no fifth.
Who idles for 10 s before each request comes to the URL at 100 s.
Higher levels have five and six fragments, and a step for each.
Choices where the contract leaves one:
1. only the payload is cut up, so every join reaches the resource and a wrong one is MUTATED_TOKEN there;
2. the steps tell the order, which is never that of the letters, of the instruction or of the steps: skipping them is guessing;
3. a step before its turn, and the resource before the last, are MISSING_CONSTRAINT; no nonce is MISSING_TOKEN; an altered nonce
   is MUTATED_TOKEN; slice and proof are MISSING_CONSTRAINT when absent and WRONG_VALUE when wrong;
4. the slice is counted in the joined text, somewhere in its second half, by seed (upstream: 4097 to 4120 for all);
5. noise in the instruction is words of the letters g to z, which no search for fragments or hex text finds;
6. the deliverable is the file, drawn from the seed and given out by the resource alone.
Order of judgement: steps made, headers present, windows (URL, nonce), bytes (URL, nonce), slice, proof.
"""

import re
from itertools import pairwise

from worlds.contract.anchors import TAIL, Anchor, draw_range
from worlds.contract.checks import check_header, require_headers
from worlds.contract.gates import Gate
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.presigned import named, presign
from worlds.contract.rows import Row
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, get
from worlds.core.chance import Stream

LETTERS, FILE_CHARS, JITTER_S, NOISE_WORDS = "ABCDEF", 64, 5, 40
PAYLOAD_BYTES = {"2k": 1358, "4k": 2790, "8k": 5680}
"""By tier: random bytes that make a URL of 2048, 4096, 8192 characters, give or take a few."""

RECORDS, BEFORE = 20, 13
"""Records of noise in the answer to a step, and how many of them stand before what it tells."""

WORDS = (
    "moss", "lily", "root", "storm", "soup", "myth", "pony", "wool", "knot", "ship", "tulip", "ivory", "host", "quill", "rust",
)  # fmt: skip


class ScatteredUrlAssembly(ContractWorld):
    """One file behind a URL in fragments."""

    def prepare(self) -> None:
        """Draw file, URL, cuts, letters, what each step tells, and slice; the URL starts to run."""
        self.content = self.chance("content").hex(FILE_CHARS).encode()
        self.link = presign(
            self.chance("link"), f"doc_{self.chance('name').hex(3)}", issued_at=self.now, ttl_ms=self.knob_ms("link_seconds"),
            expires_text=f"{self.knob('link_seconds'):g}", payload_bytes=PAYLOAD_BYTES[str(self.options["tier"])],
        )  # fmt: skip
        self.issued(self.link.resource_id, self.link.contract.expires_at)
        letters = LETTERS[: round(self.knob("fragments"))]
        self.head, *parts, self.tail = cut(self.chance("cuts"), self.link.text, len(letters))
        self.joined = Anchor("".join(parts))
        half = len(self.joined.text) // 2
        first, last = draw_range(self.chance("range"), Anchor(self.joined.text[half:]))
        self.range = half + first, half + last
        self.order = disordered(self.chance("letters"), letters)
        self.fragments = dict(zip(self.order, parts, strict=True))
        self.shown = disordered(self.chance("shown"), letters, self.order)
        self.told = iter(disordered(self.chance("told"), self.order))
        self.gate = Gate(self, "flow_nonce", "call of the last step")
        self.row, self.answers = Row(len(letters)), list[dict[str, object]]()

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        draw = self.chance("noise")
        return {
            "fragments": [(letter, self.fragments[letter]) for letter in self.shown],
            "noise": [" ".join(draw.choice(WORDS) for _ in range(NOISE_WORDS)) for _ in self.order],
            "letters": sorted(self.order), "first": self.range[0], "last": self.range[1], "chars": len(self.joined.text),
            "head": self.head, "tail": self.tail, "tail_chars": TAIL,
            "link_seconds": f"{self.knob('link_seconds'):g}", "file_chars": FILE_CHARS,
            "request_seconds": self.manifest.cost_ms("request") // 1000,
        }  # fmt: skip

    @get("/api/step/{number}")
    def step(self, call: Call) -> dict[str, object]:
        """The place of one fragment, in much noise; with the last step the nonce."""
        number = self.row.number(call.params["number"])
        self.row.require(number - 1)
        if number > self.row.taken:
            self.row.taken = number
            self.answers.append(self.answer(number))
        return self.answers[number - 1]

    def answer(self, number: int) -> dict[str, object]:
        """The answer to a step, which stays the same."""
        draw, each = self.chance(f"step {number}"), round(self.knob("noise_bytes")) // RECORDS
        records = [{"record": draw.choice(WORDS), "data": draw.base64(each)} for _ in range(RECORDS)]
        letter = next(self.told)
        told: dict[str, object] = {"step": number, "fragment": letter, "place": self.order.index(letter) + 1}
        if self.row.done:
            told |= self.gate.open(self.knob_ms("window_seconds") + self.chance("window").seconds(-JITTER_S, JITTER_S))
        return {"before": records[:BEFORE], "assembly": told, "after": records[BEFORE:]}

    @get("/api/resource/{name}", headers=("X-Flow-Nonce", "X-URL-Anchor", "X-Assembly-Proof"), query=("sig",))
    def resource(self, call: Call) -> Reply:
        """The file, if URL, nonce, slice and proof hold."""
        nonce = self.gate.require()
        require_headers(call, "X-Flow-Nonce", label=Label.MISSING_TOKEN)
        require_headers(call, "X-URL-Anchor", "X-Assembly-Proof")
        part = self.joined.chars(*self.range)
        validity_first(
            lambda: self.follow(named([self.link], call.params["name"]), call),
            lambda: self.redeem(nonce, call.header("X-Flow-Nonce"), "header X-Flow-Nonce"),
            lambda: check_header(call, "X-URL-Anchor", part),
            lambda: check_header(call, "X-Assembly-Proof", f"{self.gate.text[-TAIL:]}:{part}"),
        )
        self.deliverable = self.content
        return Reply(self.content)


def cut(draw: Stream, text: str, count: int) -> list[str]:
    """Head, so many parts of about as many octets each, and tail; each cut is at the same place inside an octet %2B or %2F."""
    octets, inside = [place.start() for place in re.finditer("%2[BF]", text)], draw.between(1, 2)
    spare = len(octets) // (8 * count)
    chosen = ((len(octets) - 1 - spare) * part // count + draw.between(0, spare) for part in range(count + 1))
    places = [0, *(octets[number] + inside for number in chosen), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def disordered(draw: Stream, *unlike: str) -> str:
    """The letters of the first of these, in an order that is none of them."""
    letters = list(unlike[0])
    while "".join(letters) in unlike:
        draw.shuffle(letters)
    return "".join(letters)
