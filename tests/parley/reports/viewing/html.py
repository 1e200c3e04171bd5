"""A page as tests read it: its elements with their attributes, headings, links and text, by the standard library's parser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr", "wbr"}


@dataclass
class Element:
    """One element with everything that stands inside it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """A parsed page."""

    source: str
    elements: list[Element] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Parse it."""
        super().__init__(convert_charrefs=True)
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element of a drawing that holds nothing."""
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """An element ends; one that was never begun is a mistake of the page."""
        assert self._open, f"</{tag}> without a beginning"
        last = self._open.pop()
        assert last.tag == tag, f"<{last.tag}> is ended by </{tag}>"

    def handle_data(self, data: str) -> None:
        """Text belongs to every element around it."""
        for element in self._open:
            element.text += data

    def all(self, *tags: str) -> list[Element]:
        """The elements of these kinds, in order."""
        return [element for element in self.elements if element.tag in tags]

    @property
    def ids(self) -> list[str]:
        """Every id."""
        return [element.attributes["id"] for element in self.elements if "id" in element.attributes]

    @property
    def targets(self) -> list[str]:
        """Everything that the page links, loads or sends to."""
        names = ("href", "src", "action", "formaction", "srcset", "data", "poster", "xlink:href")
        return [element.attributes[name] for element in self.elements for name in names if name in element.attributes]

    def by_id(self, name: str) -> Element:
        """The element with an id."""
        (element,) = [one for one in self.elements if one.attributes.get("id") == name]
        return element
