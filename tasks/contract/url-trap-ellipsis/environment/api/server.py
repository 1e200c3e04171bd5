"""What a page shows is not what its link leads to: take the href, unescape it, and send those bytes (HTML 4.6, 13.2.5).

The page has one download link, presigned as in AWS Signature Version 4. Its visible text is the first 80 characters of the
address and three dots; a second, whole-looking address stands in the running text and differs from the href in the case of one
letter; and every & of the href is a character reference, whose spelling varies by seed. A browser, or any HTML parser, is right
without thinking; a client that copies what it sees, or cuts the href out of the source, is not.
Time: every request costs 2 s. The right order uses the link 4 s after its issue (life 198 to 220 s by seed) and the precheck
token 2 s after its (90 to 100 s), so both windows fit with room for every step of the budget (10 x 2 s), and only a wait of
more than 90 s between precheck and download, or 198 s between page and download, loses one. Each can be lost without the other.
Choices where the contract leaves one:
1. sending the whole-looking address is WRONG_VALUE like the dotted one, class ui_trap: nothing was changed on the way, the
   wrong source was copied. The visible text without its dots is a truncated link, as in `worlds.contract.mangling`;
2. the page shows the same at every sight; the instruction says where the link is and nothing about what is shown;
3. a link from elsewhere on the page leads nowhere and is stray.
Order of judgement for a download: that of `worlds.contract.prechecked`.
"""

import re
from html import escape

from worlds.contract.contracts import first_difference
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.prechecked import BASE_URL, PrecheckedDownload
from worlds.contract.presigned import Presigned
from worlds.core.calls import Call, Violation
from worlds.core.chance import Stream

SHOWN = 80
"""Characters of the address in the link's visible text."""

AMPERSANDS = ("&amp;", "&#38;", "&#x26;")
"""Three spellings of one character in HTML."""

NAMES = ("Tide tables", "Seismic readings", "Station register", "Harbour dues", "Glacier survey", "Rainfall by parish")
CAPTIONS = ("Address", "Location", "Source", "Web address")
OTHERS = ("help", "terms", "contact", "imprint", "accessibility", "feedback")


class UrlTrapEllipsis(PrecheckedDownload):
    """One file behind a link that looks like another."""

    def prepare(self) -> None:
        """Draw how the page looks, too."""
        super().prepare()
        draw = self.chance("page")
        self.name, self.caption = draw.choice(NAMES), draw.choice(CAPTIONS)
        self.ampersand, self.text_first = draw.choice(AMPERSANDS), draw.below(2) == 1
        self.others = draw.sample(OTHERS, 3)
        self.misprint = b""

    def make_link(self) -> Presigned:
        """The link, and the address that is shown beside it."""
        link = super().make_link()
        self.misprint = misprinted(self.chance("misprint"), link.text).encode()
        return link

    def show_page(self, link: Presigned) -> str:
        """The link with its dotted text, the whole-looking address before or after it, and links that lead nowhere."""
        url = BASE_URL + link.text
        blocks = [
            f'<p>Download: <a id="download" href="{self.html(url)}">{self.html(url[:SHOWN] + "...")}</a></p>',
            f"<p>{self.caption}: <code>{self.html(BASE_URL + self.misprint.decode())}</code></p>",
        ]
        around = " ".join(f'<a href="/{other}">{other}</a>' for other in self.others)
        body = "\n".join(reversed(blocks) if self.text_first else blocks)
        until = self.date_at(link.contract.expires_at)
        head = f"<!doctype html>\n<title>{self.name}</title>\n<nav>{around}</nav>\n<h1>{self.name}</h1>\n"
        return f"{head}{body}\n<p>The link works until {until}.</p>\n"

    def html(self, text: str) -> str:
        """Text as this page writes it."""
        return escape(text).replace("&amp;", self.ampersand)

    def follow(self, link: Presigned, call: Call) -> None:
        """The link, byte for byte; of the address that is shown, it is told that it is the wrong one."""
        inherited = super().follow
        validity_first(lambda: self.check_source(link, call.request.target), lambda: inherited(link, call))

    def check_source(self, link: Presigned, target: bytes) -> None:
        """Raise WRONG_VALUE for the whole-looking address."""
        if target == self.misprint:
            detail = {"class": "ui_trap", "offset_of_first_difference": first_difference(link.target, target)}
            raise Violation(Label.WRONG_VALUE, "the link was not sent as issued", resource_id=link.resource_id, **detail)


def misprinted(draw: Stream, target: str) -> str:
    """The same with one letter of the payload, but of no percent-escape, in the other case."""
    start, end = target.index("payload="), target.index("&sig=")
    letters = [found.start() for found in re.finditer(r"%..|[A-Za-z]", target) if found[0][0] != "%"]
    place = draw.choice([at for at in letters if start + len("payload=") <= at < end])
    return target[:place] + target[place].swapcase() + target[place + 1 :]
