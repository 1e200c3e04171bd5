"""A long token arrives whole or not at all: 9,000 characters of link, none to be cut, wrapped or retyped (RFC 9110, 4.1).

One presigned link (after AWS Signature Version 4) whose payload is 6,144 random bytes as percent-encoded base64, on a page
whose link text says nothing of it. RFC 9110 asks that URIs of 8,000 octets and more be supported; buffers of 4,096 and 8,000
characters, line lengths of 76 and a model's own copying are what loses bytes here. In a shell the page can be piped into the
request; where an agent only writes out requests, every character passes through the model: both interfaces are declared, and
their rates are to be read apart. Option `tier` gives links of about 1,000, 4,000 or 9,000 characters, to get a curve.
Time: every request costs 2 s. The right order uses the link 4 s after its issue (life 216 to 240 s by seed) and the precheck
token 2 s after its (99 to 110 s), at any length, because time does not depend on bytes; the whole budget of 10 requests takes
20 s. A wait of 110 s in between loses the token, one of 240 s before the precheck loses the link.
Choices where the contract leaves one:
1. the link's length varies by seed only as its escapes do, within one percent, so that tiers can be compared;
2. label, heading and size note of the page vary by seed, the element's id does not: finding the link is not the point here;
3. the page is short and the link stands in its middle, so a clipped view of the page shows that it was clipped.
Order of judgement for a download: that of `worlds.contract.prechecked`.
"""

from html import escape

from worlds.contract.prechecked import BASE_URL, PrecheckedDownload
from worlds.contract.presigned import Presigned

TIERS = {"1k": 640, "4k": 2752, "9k": 6144}
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
            f'<p><a id="download" href="{escape(BASE_URL + link.text)}">{self.label}</a></p>',
            f"<p>Until {self.date_at(link.contract.expires_at)}.</p>",
        )
        return "\n".join(lines) + "\n"
