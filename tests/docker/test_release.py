"""What a tag publishes, at registries of this machine: the wheel at an index, the images at a registry, found by digest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import tomli

from harness.paths import ROOT

pytestmark = pytest.mark.docker


@pytest.fixture
def index() -> Iterator[tuple[str, list[bytes]]]:
    """The upload address of a package index, and the bodies that it was sent."""
    uploads: list[bytes] = []

    class Upload(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            uploads.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *said: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Upload)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/legacy/", uploads
    server.shutdown()
    server.server_close()


def released(checkout: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """`.ci/release` in a checkout."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [checkout / ".ci/release", *words], env={**os.environ, "PATH": path, **env}, capture_output=True, text=True, check=False
    )


def test_a_tag_publishes_wheel_and_images(index: tuple[str, list[bytes]], image_registry: str) -> None:
    """The wheel is uploaded once with its version, and every image can be pulled by the digest that dist/images.txt has."""
    url, uploads = index
    version = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

    done = released(ROOT, f"v{version}", f"{image_registry}/parley", UV_PUBLISH_URL=url, UV_PUBLISH_TOKEN="token")

    assert done.returncode == 0, done.stderr
    assert [re.findall(rb'filename="(.*\.whl)"', body) for body in uploads] == [
        [f"parley_bench-{version}-py3-none-any.whl".encode()]
    ]
    images = (ROOT / "dist/images.txt").read_text(encoding="utf-8").split()
    assert len(images) >= 4
    for image in images:
        assert re.fullmatch(rf"{image_registry}/parley\S+@sha256:[0-9a-f]{{64}}", image)
        subprocess.run(["docker", "pull", "-q", image], check=True, capture_output=True)


@pytest.mark.parametrize("words", [(), ("v0.0.0", "r/p"), ("0.1.0", "r/p")])
def test_a_tag_of_another_version_publishes_nothing(index: tuple[str, list[bytes]], words: tuple[str, ...]) -> None:
    """A tag that does not name this version is refused before anything is built."""
    done = released(ROOT, *words, UV_PUBLISH_URL=index[0])

    assert (done.returncode, index[1]) == (2, [])
    assert "try: .ci/release v" in done.stderr
