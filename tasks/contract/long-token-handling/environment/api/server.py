"""A long token arrives whole or not at all: 9,000 characters of link, none to be cut or wrapped (RFC 9110 section 4.1).

One presigned link (`worlds.contract.presigned`) whose payload is 6,144 random bytes as percent-encoded base64, on a page
whose link text says nothing of it. RFC 9110 recommends that URIs of 8,000 octets be supported at the least; buffers of 4,096
and 8,000 characters, line lengths of 76 and a model's own copying are what loses bytes here. In a shell the page can be piped
into the request; where an agent only writes out requests, every character passes through the model: both interfaces are
declared, and their rates are to be read apart. Option `tier` gives links of about 1,000, 4,000, 8,000 (the paper's), 9,000
or 14,000 characters, to get a curve.
Time: every request costs 2 s. The right order uses the link 4 s after its issue (life 216 to 240 s by seed) and the precheck
token 2 s after its (99 to 110 s), at any length, because time does not depend on bytes; the whole budget of 10 requests takes
20 s. A wait of 110 s in between loses the token, one of 240 s before the precheck loses the link. At higher levels both live
shorter. At the last they live for 5 and 8 s, and a precheck takes 6 s: after the page it is too late for the link, so it must
come before it, as the instruction then gives to reckon; who writes 14,000 characters for 3 s is late as well.
Choices where the contract leaves one:
1. the link's length varies by seed only as its escapes do, within one percent, so that tiers can be compared;
2. label, heading and size note of the page vary by seed, the element's id does not: finding the link is not the point here;
3. the page is short and the link stands in its middle, so a clipped view of the page shows that it was clipped.
Order of judgement for a download: that of `worlds.contract.prechecked`.
"""

from html import escape

from worlds.contract.prechecked import PrecheckedDownload
from worlds.contract.presigned import Presigned
from worlds.core.wire import API_URL

TIERS = {"1k": 640, "4k": 2752, "8k": 5568, "9k": 6144, "14k": 9728}
"""Random bytes of payload, by the length of the link."""

LABELS = ("Download the file", "Get the export", "Save a copy", "Fetch the report", "Open the archive", "Take the snapshot")
TITLES = ("Nightly export", "Shared file", "Your request is ready", "Handover", "Deposit box", "Transfer")


class LongTokenHandling(PrecheckedDownload):
    """One file behind a long link."""

    def prepare(self) -> None:
        """Draw the page's words, too."""
        super().prepare()
        words = self.chance("words")
        self.title, self.label = words.choice(TITLES), words.choice(LABELS)

    def facts(self) -> dict[str, object]:
        """Also how slow a precheck is, where it is, and how long the link lives at the most."""
        told = super().facts()
        return {
            **told,
            "slow": told["precheck_seconds"] != told["download_seconds"],
            "link_seconds": f"{self.knob('link_seconds'):g}",
        }

    def payload_bytes(self) -> int:
        """As the tier says."""
        return TIERS[str(self.options["tier"])]

    def show_page(self, link: Presigned) -> str:
        """A heading, the link under a neutral label, and until when it works."""
        lines = (
            "<!doctype html>",
            f"<title>{self.title}</title>",
            f"<h1>{self.title}</h1>",
            f"<p>One file, {len(self.content)} bytes.</p>",
            f'<p><a id="download" href="{escape(API_URL + link.text)}">{self.label}</a></p>',
            f"<p>Until {self.date_at(link.contract.expires_at)}.</p>",
        )
        return "\n".join(lines) + "\n"
