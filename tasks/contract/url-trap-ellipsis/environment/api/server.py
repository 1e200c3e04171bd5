"""What a page shows is not what its link leads to: take the href, unescape it, and send those bytes (HTML 4.6, 13.1.4).

The page has one download link, presigned (`worlds.contract.presigned`). Its visible text is the first 80 characters of the
address and three dots; a second, whole-looking address stands in the running text and differs from the href in the case of one
letter; and every & of the href is a character reference, whose spelling varies by seed. A browser, or any HTML parser, is right
without thinking; a client that copies what it sees, or cuts the href out of the source, is not.
Time: every request costs 2 s. The right order uses the link 4 s after its issue (life 198 to 220 s by seed) and the precheck
token 2 s after its (90 to 100 s), so both windows fit with room for every step of the budget (10 x 2 s), and only a wait of
more than 90 s between precheck and download, or 198 s between page and download, loses one. Each can be lost without the other.
At higher levels the page lists several files, each with a link and an address, and the right one is never the first: the text
names it, and a client that takes the first link it sees has another file's, which is WRONG_VALUE.
Choices where the contract leaves one:
1. sending the whole-looking address is WRONG_VALUE like the dotted one, class ui_trap: nothing was changed on the way, the
   wrong source was copied. The visible text without its dots is a truncated link, as in `worlds.contract.mangling`;
2. the page shows the same at every sight; the instruction says where the link is and nothing about what is shown;
3. a link from elsewhere on the page leads nowhere and is stray.
Order of judgement for a download: that of `worlds.contract.prechecked`.
"""

import re
from collections.abc import Callable, Iterable
from html import escape

from worlds.contract.contracts import first_difference
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.prechecked import PrecheckedDownload
from worlds.contract.presigned import Presigned, presign
from worlds.core.calls import Call, Violation
from worlds.core.chance import Stream
from worlds.core.wire import API_URL

SHOWN = 80
"""Characters of the address in the link's visible text."""

AMPERSANDS = ("&amp;", "&#38;", "&#x26;")
"""Three spellings of one character in HTML."""

ARRANGED: tuple[Callable[[list[str]], Iterable[str]], ...] = (list, reversed)
"""Which of link and address of a file stands first."""

NAMES = ("Tide tables", "Seismic readings", "Station register", "Harbour dues", "Glacier survey", "Rainfall by parish")
CAPTIONS = ("Address", "Location", "Source", "Web address")
OTHERS = ("help", "terms", "contact", "imprint", "accessibility", "feedback")


class UrlTrapEllipsis(PrecheckedDownload):
    """One file behind a link that looks like another."""

    def prepare(self) -> None:
        """Draw how the page looks, too, and which other files it lists."""
        super().prepare()
        draw = self.chance("page")
        self.name, self.caption = draw.choice(NAMES), draw.choice(CAPTIONS)
        self.ampersand, self.arranged = draw.choice(AMPERSANDS), draw.choice(ARRANGED)
        self.others = draw.sample(OTHERS, 3)
        files = range(round(self.knob("files")))
        others = files[1:]
        self.names = self.chance("files").sample([name for name in NAMES if name != self.name], len(others))
        self.names.insert(self.chance("place").choice(others or files), self.name)
        self.files: list[Presigned] = []
        self.misprints: list[bytes] = []

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {**super().facts(), "file_name": self.name}

    def make_link(self) -> Presigned:
        """The link, those of the other files, and the address that is shown beside each."""
        link, draw = super().make_link(), self.chance("others")
        spare = draw.sample(
            [name for name in (f"file_{n:02x}" for n in range(256)) if name != link.resource_id], len(self.names)
        )
        expires = self.unix_at(link.contract.expires_at)
        other = {"issued_at": self.now, "ttl_ms": self.link_ms, "payload_bytes": self.payload_bytes()}
        self.files = [
            link if name == self.name else presign(draw, resource_id, expires_text=expires, **other)
            for name, resource_id in zip(self.names, spare, strict=True)
        ]
        self.misprints = [misprinted(self.chance("misprint"), file.text).encode() for file in self.files]
        return link

    def reachable(self) -> list[Presigned]:
        """Every link of the page."""
        return self.files

    def show_page(self, link: Presigned) -> str:
        """Each file with its dotted link, and the whole-looking address before or after it; and links that lead nowhere."""
        around = " ".join(f'<a href="/{other}">{other}</a>' for other in self.others)
        sections = "".join(self.section(place) for place in range(len(self.files)))
        return f"<!doctype html>\n<title>{self.name}</title>\n<nav>{around}</nav>\n{sections}"

    def section(self, place: int) -> str:
        """One file, in its place on the page, from 0."""
        file = self.files[place]
        url = API_URL + file.text
        anchor = f"download-{place}" if place else "download"
        blocks = [
            f'<p>Download: <a id="{anchor}" href="{self.html(url)}">{self.html(url[:SHOWN] + "...")}</a></p>',
            f"<p>{self.caption}: <code>{self.html(API_URL + self.misprints[place].decode())}</code></p>",
        ]
        body, until = "\n".join(self.arranged(blocks)), self.date_at(file.contract.expires_at)
        return f"<h1>{self.names[place]}</h1>\n{body}\n<p>The link works until {until}.</p>\n"

    def html(self, text: str) -> str:
        """Text as this page writes it."""
        return escape(text).replace("&amp;", self.ampersand)

    def follow(self, link: Presigned, call: Call) -> None:
        """The link, byte for byte; of another file's, and of an address that is shown, it is told that it is the wrong one."""
        inherited = super().follow
        validity_first(lambda: self.check_source(link, call.request.target), lambda: inherited(link, call))

    def check_source(self, link: Presigned, target: bytes) -> None:
        """Raise WRONG_VALUE for the link of another file, and for a whole-looking address."""
        if link is not self.link:
            raise Violation(Label.WRONG_VALUE, "the link leads to another file", resource_id=link.resource_id)
        if target in self.misprints:
            detail = {"class": "ui_trap", "offset_of_first_difference": first_difference(link.target, target)}
            raise Violation(Label.WRONG_VALUE, "the link was not sent as issued", resource_id=link.resource_id, **detail)


def misprinted(draw: Stream, target: str) -> str:
    """A target with one letter of the payload, but of no percent-escape, in the other case."""
    before, name, rest = target.partition("payload=")
    payload, end, signature = rest.partition("&sig=")
    place = draw.choice([letter.start() for letter in re.finditer("(?<!%)(?<!%.)[A-Za-z]", payload)])
    written = list(payload)
    written[place] = payload[place].swapcase()
    return "".join((before, name, *written, end, signature))
