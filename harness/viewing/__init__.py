"""Recorded runs as pages: a local server that only reads (`server`), or a folder of files to publish (`site`), from one site.

1. A page is a typed model of its own (`pages`), made from `harness.reading.RecordedEpisode` and the results of runs, never from
   printed text; its template only places it, and the page's JSON is the model itself.
2. Whatever stands in a run was written by others. Everything is escaped, what browsers would obey or hide is spelled out, no
   page loads anything from elsewhere, and a file is offered as plain text only.
3. Server and bundle have the same addresses (`harness.reading.addresses`), and all links are relative.
"""

from harness.viewing.library import Library
from harness.viewing.server import open_server
from harness.viewing.site import Site, first_page, write_bundle

__all__ = ["Library", "Site", "first_page", "open_server", "write_bundle"]
