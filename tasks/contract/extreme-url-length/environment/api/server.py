"""The one live link stands on a long page beside ended ones: choose it by its date, then carry 12,000 characters unchanged.

A file on three to five mirrors. Each mirror's link is presigned (`worlds.contract.presigned`) and has a date beside it; all
but one ended before the page was made. The live one has 8,192 random bytes of payload, one of the ended ones a little more, the
others 1 KB each; all have other ids and sound signatures, so neither length nor markup tells which one lives. It stands neither
first nor last in the list, and the list stands at the end of a long page. Option `tier` gives a live link of about 2,000, 6,000
or 8,000 characters, or 12,000; RFC 9110 section 4.1 recommends that 8,000 octets be supported at the least.
Time: every request costs 2 s. The right order uses the link 4 s after its issue (life 270 to 300 s by seed) and the precheck
token 2 s after its (95 to 105 s); the whole budget of 10 requests takes 20 s, so no order of requests loses a window, only a
wait does: 105 s after the precheck, or 300 s before it. The ended links ended an hour to 20 days before the start, so none of
them can be used at any time.
From level 3 on the rows have their dates in three notations: that of the Date header, RFC 3339, and seconds since 1970.
Choices where the contract leaves one:
1. the ended links lead somewhere: following one is EXPIRED_BEFORE_USE, judged on its own record, and not an unknown address;
2. the instruction says that all links but one have ended and that dates stand beside them; it does not say which, nor where;
3. the dates are compared with the Date header of any response, and the mirrors are in no order;
4. the page stays under 32 KiB at every tier, so an agent that is shown that much can solve the task by reading.
Order of judgement for a download: that of `worlds.contract.prechecked`; the id in the path says which link is meant.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from html import escape
from itertools import cycle

from worlds.contract.prechecked import PrecheckedDownload
from worlds.contract.presigned import Presigned, presign
from worlds.core.clock import http_date
from worlds.core.wire import API_URL

TIERS = {"2k": 1312, "6k": 4096, "8k": 5568, "12k": 8192}
"""Random bytes of payload, by the length of the live link."""

ENDED = (2, 4)
"""Range of links that have ended."""

ENDED_BYTES, LONGER = 1024, (192, 384)
"""Random bytes of payload in each of them but one, and how many more than the live link that one has."""

AGES_MS = (3_600_000, 1_728_000_000)
"""Range of how long ago they ended: an hour to twenty days."""

BLOCKS = (20, 32)
"""Range of lines in the page's list of block digests."""

CITIES = ("Aarhus", "Bergen", "Cork", "Delft", "Espoo", "Faro", "Graz", "Haifa", "Izmir", "Jena", "Kaunas", "Lucca")
LABELS = ("file", "copy", "download", "image", "package")


def counted(until: datetime) -> str:
    """An instant as whole seconds since 1970."""
    return str(int(until.timestamp()))


NOTATIONS: dict[str, tuple[Callable[[datetime], str], ...]] = {
    "date": (http_date,),
    "mixed": (http_date, datetime.isoformat, counted),
}
"""How the page writes times, row by row."""


class ExtremeUrlLength(PrecheckedDownload):
    """One file on several mirrors, of which one still works."""

    def prepare(self) -> None:
        """Draw the ended links and the order of the mirrors, too."""
        super().prepare()
        draw = self.chance("mirrors")
        count = draw.between(*ENDED)
        ids = draw.sample([name for name in (f"file_{n:02x}" for n in range(256)) if name != self.resource_id], count)
        sizes = [ENDED_BYTES for _ in ids[1:]]
        sizes.insert(draw.below(count), self.payload_bytes() + draw.between(*LONGER))
        self.ended = [self.ended_link(name, -draw.between(*AGES_MS), size) for name, size in zip(ids, sizes, strict=True)]
        self.place = draw.between(1, count - 1)
        self.cities = draw.sample(CITIES, count + 1)
        self.label = draw.choice(LABELS)
        notations = NOTATIONS[str(self.options["notation"])]
        turn = self.chance("notations").below(len(notations))
        self.notations = dict(zip(self.cities, cycle((*notations[turn:], *notations[:turn])), strict=False))
        self.digests = [draw.hex(64) for _ in range(draw.between(*BLOCKS))]

    def payload_bytes(self) -> int:
        """As the tier says."""
        return TIERS[str(self.options["tier"])]

    def ended_link(self, resource_id: str, ended: int, payload_bytes: int) -> Presigned:
        """A link that was as good as the live one until it `ended` (virtual ms)."""
        return presign(
            self.chance("ended"), resource_id, issued_at=ended - self.link_ms, ttl_ms=self.link_ms,
            expires_text=self.unix_at(ended), payload_bytes=payload_bytes,
        )  # fmt: skip

    def reachable(self) -> list[Presigned]:
        """The ended links, too."""
        return [*super().reachable(), *self.ended]

    def show_page(self, link: Presigned) -> str:
        """A long list of digests, then the mirrors with their links and dates."""
        blocks = "\n".join(f"block {number:03d} {digest}" for number, digest in enumerate(self.digests))
        links = [*self.ended[: self.place], link, *self.ended[self.place :]]
        mirrors = "\n".join(self.row(number, made) for number, made in enumerate(links))
        head = f"<!doctype html>\n<title>Mirrors</title>\n<h2>Blocks</h2>\n<pre>\n{blocks}\n</pre>\n"
        return f"{head}<h2>Mirrors</h2>\n<ul>\n{mirrors}\n</ul>\n"

    def row(self, number: int, link: Presigned) -> str:
        """One mirror."""
        city, address = self.cities[number], escape(API_URL + link.text)
        until = self.notations[city](self.clock.epoch + timedelta(milliseconds=link.contract.expires_at))
        return f'<li>{city}: <a id="mirror-{city.lower()}" href="{address}">{self.label}</a>, works until {until}</li>'

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {**super().facts(), "mixed": self.options["notation"] == "mixed"}
