"""Small wheels of the fixtures, and servers for them: a correct one, and one for each failure."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.registry.journal import Record, serialize_outcome
from abiscan.registry.scan_unit import Outcome, Work, of_a_registry
from abiscan.registry.table_rows import COLUMNS

FIXTURES = Path(__file__).parents[1] / "fixtures"
TAG = "cp311-cp311-manylinux_2_28_x86_64"
# Cost of a run, different each time.
COST = {"bytes_read", "seconds", "cpu_seconds", "peak_memory", "hash_checked", "source"}


def wheel(
    folder: Path, name: str, *fixtures: str, padding: int = 0, requires: str = "torch", version: str = "1.0"
) -> Path:
    """A wheel of fixtures, followed by `padding` bytes of incompressible text."""
    path = folder / f"{name}-{version}-{TAG}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for fixture in fixtures:
            archive.write(FIXTURES / fixture, f"{name}/{Path(fixture).name}")
        if padding:
            archive.writestr(f"{name}/data.json", _noise(padding), zipfile.ZIP_STORED)
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: {requires}\n"
        archive.writestr(f"{name}-{version}.dist-info/METADATA", about)
        archive.writestr(
            f"{name}-{version}.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {TAG}\n"
        )
    return path


def _noise(size: int) -> bytes:
    found, block = bytearray(), b"x"
    while len(found) < size:
        block = hashlib.sha512(block).digest()
        found += block
    return bytes(found[:size])


def work(torch: str = "2.13.0", **given: Any) -> Work:
    return Work(of_a_registry(ScanOptions(torch, None, LoaderSettings("/"))), **given)


def rows_in(record: Record) -> dict[str, list[dict[str, Any]]]:
    """The rows of an outcome from an engine; a table without rows has an empty list."""
    tables = record.columns
    return {
        name: [dict(zip(columns, row, strict=True)) for row in zip(*tables.get(name, [[]]), strict=True)]
        for name, columns in COLUMNS.items()
    }


def told(outcome: Outcome | Record) -> dict[str, Any]:
    """The rows of an outcome without cost and stored facts."""
    found = rows_in(serialize_outcome(outcome) if isinstance(outcome, Outcome) else outcome)
    rows = {table: list(rows) for table, rows in found.items() if table != "facts"}
    rows["wheels"] = [{k: v for k, v in row.items() if k not in COST} for row in rows["wheels"]]
    return rows


# After the address of a link: its quotation mark, and an attribute.
YANKED = '" data-yanked="broken'


class Server(ThreadingHTTPServer):
    """An index of the wheels in a folder, by PEP 503 and PEP 691, at `/simple/`.

    Attributes:
        ranges: whether range requests work.
        lies: hash in the index for every file.
        links: address in the index for file names.
        yanked: names of files that the index marks as yanked (PEP 592).
        validators: headers that identify contents, for every file.
        trouble: called with the handler before a file is sent; True if it has responded.
        sent: bytes of file bodies.
        asked: (path, Range header).
    """

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.ranges, self.json = True, True
        self.lies: str | None = None
        self.links: dict[str, str] = {}
        self.yanked: set[str] = set()
        self.validators: dict[str, str] = {}
        self.trouble: Any = lambda _handler: False
        self.sent = 0
        self.asked: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Some tests are about clients that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_given: Any) -> None:
        pass

    def do_GET(self) -> None:
        path = unquote(self.path)
        self.server.asked.append((path, self.headers.get("Range")))
        if path == "/simple/":
            return self._index()
        if path.startswith("/simple/"):
            return self._project(path.split("/")[2])
        return self._file(self.server.folder / path.rpartition("/")[2])

    def do_HEAD(self) -> None:
        path = self.server.folder / unquote(self.path).rpartition("/")[2]
        self.send_response(200 if path.is_file() else 404)
        self.send_header("Content-Length", str(path.stat().st_size if path.is_file() else 0))
        for name, value in self.server.validators.items():
            self.send_header(name, value)
        self.end_headers()

    def _projects(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        for each in sorted(self.server.folder.glob("*.whl")):
            found.setdefault(each.name.partition("-")[0].replace("_", "-").lower(), []).append(each)
        return found

    def _index(self) -> None:
        names = list(self._projects())
        self._page(
            {"meta": {"api-version": "1.0"}, "projects": [{"name": n} for n in names]},
            [(n, f"/simple/{n}/") for n in names],
        )

    def _project(self, name: str) -> None:
        if name not in self._projects():
            return self._answer(404, b"")
        files, links = [], []
        for each in self._projects()[name]:
            digest = self.server.lies or hashlib.sha256(each.read_bytes()).hexdigest()
            place = self.server.links.get(each.name, f"/files/{each.name}")
            yanked = each.name in self.server.yanked
            files.append({"filename": each.name, "url": place, "hashes": {"sha256": digest}, "yanked": yanked})
            links.append((each.name, f"{place}#sha256={digest}{YANKED if yanked else ''}"))
        self._page({"meta": {"api-version": "1.0"}, "name": name, "files": files}, links)
        return None

    def _page(self, document: dict[str, Any], links: list[tuple[str, str]]) -> None:
        if self.server.json:
            return self._answer(200, json.dumps(document).encode(), "application/vnd.pypi.simple.v1+json")
        anchors = "".join(f'<a href="{href}">{text}</a>\n' for text, href in links)
        return self._answer(200, f"<!DOCTYPE html><html><body>{anchors}</body></html>".encode(), "text/html")

    def _file(self, path: Path) -> None:
        if self.server.trouble(self):
            return
        if not path.is_file():
            return self._answer(404, b"")
        data = path.read_bytes()
        span = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if span is None or not self.server.ranges:
            self.server.sent += len(data)
            return self._answer(200, data)
        first, last = span.groups()
        start = int(first) if first else max(0, len(data) - int(last))
        end = min(int(last) + 1 if first and last else len(data), len(data))
        self.server.sent += end - start
        place = {"Content-Range": f"bytes {start}-{end - 1}/{len(data)}"}
        return self._answer(206, data[start:end], more=place)

    def _answer(self, status: int, body: bytes, kind: str = "application/octet-stream", more: Any = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
