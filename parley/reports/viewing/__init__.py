"""Recorded runs as pages: a read-only local server, or a folder of files to publish (`site`).

1. Each page has a typed model (`pages`), made from `parley.reports.reading.RecordedEpisode` and the results of runs, never from
printed text. Its template only lays out the model, and the page's JSON is the model itself.
2. Contents of runs are untrusted. Everything is escaped, characters that browsers interpret or hide are spelled out, no page
   loads anything from elsewhere, and files are served as plain text only.
3. Server and bundle have the same addresses (`parley.reports.reading.addresses`), and all links are relative.
"""

from parley.reports.viewing.library import Library
from parley.reports.viewing.site import Site, first_page, open_server, write_bundle

__all__ = ["Library", "Site", "first_page", "open_server", "write_bundle"]
