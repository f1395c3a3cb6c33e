"""Wheels on servers: minimum transfers, the same rows as for a file, and an error row if a server fails."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from abiscan.errors import UnreadableFile, UsageError
from abiscan.inputs.remote import remote_files
from abiscan.model.platforms import OperatingSystem
from abiscan.model.report import InputError
from abiscan.registry.scan_unit import Outcome, Worker
from abiscan.registry.unit import Unit, local_unit, units_of
from tests.registry.kit import Server, serving, told, wheel, work

pytestmark = pytest.mark.registry


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "index"
    folder.mkdir()
    wheel(folder, "alpha", "good-extension.so", "old-string-extension.so")
    wheel(folder, "beta", "good-extension.so", padding=6 << 20)
    (folder / "alpha-1.0-cp311-cp311-ios_13_0_arm64_iphoneos.whl").write_bytes(b"for another system")
    with serving(folder) as found:
        yield found


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    from abiscan.inputs import http_bytes

    monkeypatch.setattr(http_bytes, "PAUSES", (0.01, 0.02))
    monkeypatch.setattr(http_bytes, "STALL", 0.5)


def scanned(*targets: str, **given: Any) -> dict[str, Outcome]:
    worker = Worker(work(**given))
    found = {}
    for unit in units_of(targets, "/"):
        assert isinstance(unit, Unit), unit
        found[unit.display] = worker.scan(unit)
    return found


def rows(outcome: Outcome) -> dict[str, Any]:
    """Without the path, which differs on a server."""
    path = outcome.path

    def moved(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(path, "W")
        return [moved(v) for v in value] if isinstance(value, list) else value

    return {
        table: [{k: moved(v) for k, v in row.items() if k != "identity"} for row in rows]
        for table, rows in told(outcome).items()
    }


def only_error(outcome: Outcome) -> str:
    (row,) = outcome.rows["wheels"]
    assert (row["verdict"], row["gate"]) == ("unreadable", "incomplete")
    assert row["identity"] is None, "it would never be tried again"
    (error,) = outcome.rows["errors"]
    message = str(error["message"])
    assert "\n" not in message
    return message


@pytest.mark.parametrize("as_json", [True, False], ids=["PEP 691", "PEP 503"])
def test_an_index_and_a_project_of_it_list_their_wheels(server: Server, as_json: bool) -> None:
    server.json = as_json
    whole = [unit.display for unit in units_of([f"{server.url}/simple/"], "/") if isinstance(unit, Unit)]
    assert [name.rpartition("/")[2].partition("-")[0] for name in whole] == ["alpha", "beta"]
    (one,) = units_of([f"{server.url}/simple/alpha/"], "/")
    assert isinstance(one, Unit)
    assert one.identity is not None
    assert one.identity.startswith("sha256:")


@pytest.mark.parametrize("as_json", [True, False], ids=["PEP 691", "PEP 503"])
def test_what_was_taken_back_is_left_out(server: Server, as_json: bool) -> None:
    """PEP 592: an installer ignores yanked files, unless their exact version is requested."""
    server.json = as_json
    everything = set(scanned_names(server))
    taken = next(name for name in everything if name.startswith("beta"))
    server.yanked = {taken}
    assert set(scanned_names(server)) == everything - {taken}


def scanned_names(server: Server) -> list[str]:
    units = units_of([f"{server.url}/simple/"], "/")
    return [unit.display.rpartition("/")[2] for unit in units if isinstance(unit, Unit)]


@pytest.mark.parametrize(
    ("latest", "versions"), [(1, {"2.10.0"}), (2, {"2.9.0", "2.10.0"}), (None, {"1.0", "2.9.0", "2.10.0", "3.0rc1"})]
)
def test_the_newest_releases_of_a_project(server: Server, latest: int | None, versions: set[str]) -> None:
    """PEP 440: 2.10.0 is newer than 2.9.0, and a pre-release counts only if there is no other."""
    first = next(server.folder.glob("alpha-1.0-*manylinux*"))
    for version in ("2.9.0", "2.10.0", "3.0rc1"):
        (server.folder / first.name.replace("-1.0-", f"-{version}-")).write_bytes(first.read_bytes())
    found = remote_files(f"{server.url}/simple/alpha/", latest)
    assert {each.display.split("-")[1] for each in found if not isinstance(each, InputError)} == versions


def test_wheels_for_other_systems_are_listed_unless_a_system_is_named(server: Server) -> None:
    first = next(server.folder.glob("alpha-1.0-*manylinux*"))
    for tag in ("win_amd64", "macosx_11_0_arm64"):
        (server.folder / f"alpha-1.0-cp311-cp311-{tag}.whl").write_bytes(first.read_bytes())

    def names(*systems: OperatingSystem) -> set[str]:
        units = units_of([f"{server.url}/simple/alpha/"], "/", systems=frozenset(systems or OperatingSystem))
        return {unit.display.removesuffix(".whl").rpartition("-")[2] for unit in units if isinstance(unit, Unit)}

    assert names() == {"win_amd64", "macosx_11_0_arm64", "manylinux_2_28_x86_64"}
    assert names(OperatingSystem.WINDOWS) == {"win_amd64"}
    assert names(OperatingSystem.LINUX, OperatingSystem.MACOS) == {"macosx_11_0_arm64", "manylinux_2_28_x86_64"}


@pytest.mark.parametrize("as_json", [True, False], ids=["PEP 691", "PEP 503"])
@pytest.mark.parametrize("place", ["file://{}", "FILE://{}", "local://{}", "memory:/{}", "simplecache::file://{}"])
def test_an_index_cannot_have_another_place_read_than_a_server(server: Server, place: str, as_json: bool) -> None:
    server.json = as_json
    (here,) = server.folder.glob("alpha*linux*")
    server.links[here.name] = place.format(here)
    (found,) = units_of([f"{server.url}/simple/alpha/"], "/")
    assert isinstance(found, InputError), found
    assert "only http and https are followed" in found.message
    (other,) = units_of([f"{server.url}/simple/beta/"], "/")
    assert isinstance(other, Unit)


def test_a_wheel_on_a_server_has_the_rows_of_the_file(server: Server) -> None:
    for path, outcome in scanned(f"{server.url}/simple/").items():
        local = Worker(work()).scan(local_unit(path.rpartition("/")[2], str(server.folder)))
        assert rows(outcome) == rows(local)


def test_of_a_large_wheel_the_directory_and_the_shared_objects_are_read(server: Server) -> None:
    (outcome,) = scanned(f"{server.url}/simple/beta/").values()
    (row,) = outcome.rows["wheels"]
    assert row["files"] == 1
    assert row["size"] > 6 << 20
    assert row["bytes_read"] == server.sent < 400_000
    assert row["hash_checked"] is False


def test_a_small_wheel_is_held_against_the_hash_of_the_index(server: Server) -> None:
    (outcome,) = scanned(f"{server.url}/simple/alpha/").values()
    assert outcome.rows["wheels"][0]["hash_checked"] is True


def test_a_server_without_ranges_sends_the_whole_wheel(server: Server) -> None:
    (by_ranges,) = scanned(f"{server.url}/simple/beta/").values()
    server.ranges = False
    (whole,) = scanned(f"{server.url}/simple/beta/").values()
    assert rows(whole) == rows(by_ranges)
    (row,) = whole.rows["wheels"]
    assert row["bytes_read"] == row["size"]
    assert row["hash_checked"] is True


@pytest.mark.parametrize("project", ["alpha", "beta"])
def test_a_wrong_hash_in_an_index_is_detected_after_a_full_read(server: Server, project: str) -> None:
    server.lies, server.ranges = "0" * 64, False
    (outcome,) = scanned(f"{server.url}/simple/{project}/").values()
    assert "the index has 0000" in only_error(outcome)
    (row,) = outcome.rows["wheels"]
    assert row["hash_checked"] is False
    (path,) = server.folder.glob(f"{project}*linux*")
    assert row["bytes_read"] == path.stat().st_size


def test_a_stall_ends(server: Server) -> None:
    def stall(handler: Any) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(b"PK")
        handler.wfile.flush()
        time.sleep(5)
        return True

    server.trouble = stall
    began = time.monotonic()
    (outcome,) = scanned(f"{server.url}/simple/alpha/").values()
    assert "sent nothing for" in only_error(outcome)
    assert time.monotonic() - began < 5


def test_failures_of_a_server_are_tried_again_and_then_an_error(server: Server) -> None:
    times: list[int] = []

    def fail(upto: int) -> Any:
        def trouble(handler: Any) -> bool:
            times.append(1)
            if len(times) > upto:
                return False
            handler._answer(503, b"")
            return True

        return trouble

    server.trouble = fail(2)
    (outcome,) = scanned(f"{server.url}/simple/alpha/").values()
    assert not outcome.rows["errors"]
    times.clear()
    server.trouble = fail(1000)
    (outcome,) = scanned(f"{server.url}/simple/alpha/").values()
    assert "3 attempts: the server answered 503" in only_error(outcome)
    assert len(times) == 3


def test_a_server_that_fails_half_way_is_an_error_of_that_wheel(server: Server) -> None:
    def half(handler: Any) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(b"PK" * 1000)
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_RDWR)
        return True

    server.ranges, server.trouble = False, half
    (outcome,) = scanned(f"{server.url}/simple/alpha/").values()
    assert "cut off" in only_error(outcome)


def test_what_fails_after_the_first_range_is_an_error_of_that_wheel(server: Server) -> None:
    def later(handler: Any) -> bool:
        if (handler.headers.get("Range") or "").startswith("bytes=-"):
            return False
        handler._answer(500, b"")
        return True

    server.trouble = later
    (outcome,) = scanned(f"{server.url}/simple/beta/").values()
    assert "the server answered 500" in only_error(outcome)


def test_a_server_that_fails_for_one_member_gives_no_verdict(server: Server) -> None:
    """The other member was read and fails: this is no verdict on the wheel, which a later run reads again."""
    wheel(server.folder, "gamma", "old-string-extension.so", "good-extension.so", padding=6 << 20)
    asked: list[int] = []

    def later(handler: Any) -> bool:
        asked.append(1)
        if not failing or len(asked) < 3:
            return False
        handler._answer(503, b"")
        return True

    failing = True
    server.trouble = later
    (outcome,) = scanned(f"{server.url}/simple/gamma/").values()
    assert "the server answered 503" in only_error(outcome)
    assert not outcome.rows["facts"]
    failing = False
    (outcome,) = scanned(f"{server.url}/simple/gamma/").values()
    (row,) = outcome.rows["wheels"]
    assert (row["verdict"], row["identity"] is None) == ("fails", False)


@pytest.mark.parametrize("header", ["ETag", "Last-Modified"])
def test_a_wheel_without_a_hash_is_identified_by_its_server(server: Server, header: str) -> None:
    (unit,) = units_of((f"{server.url}/files/{next(server.folder.glob('beta*')).name}",), "/")
    assert isinstance(unit, Unit)
    assert unit.identity is None, "this server tells neither"
    server.validators = {header: "one"}
    size = next(server.folder.glob("beta*")).stat().st_size
    identities = set()
    for each in ("one", "one", "two"):
        server.validators = {header: each}
        (unit,) = units_of((f"{server.url}/files/{next(server.folder.glob('beta*')).name}",), "/")
        assert isinstance(unit, Unit)
        assert str(unit.identity).endswith(f":{each}:{size}")
        identities.add(unit.identity)
    assert len(identities) == 2


def test_a_server_that_sends_another_range_is_found_out(server: Server) -> None:
    def other(handler: Any) -> bool:
        if (handler.headers.get("Range") or "").startswith("bytes=-"):
            return False
        handler._answer(206, b"x" * 40_000, more={"Content-Range": "bytes 7-40006/6300000"})
        return True

    server.trouble = other
    (outcome,) = scanned(f"{server.url}/simple/beta/").values()
    assert "changed on the server" in only_error(outcome)


def test_a_project_that_is_not_there_is_an_error_and_others_go_on(server: Server) -> None:
    found = list(units_of([f"{server.url}/simple/gamma/", f"{server.url}/simple/alpha/"], "/"))
    assert isinstance(found[0], InputError)
    assert "404" in found[0].message
    assert isinstance(found[1], Unit)


def test_credentials_are_never_shown(server: Server) -> None:
    url = server.url.replace("//", "//user:secret@")
    (outcome,) = scanned(f"{url}/nothing-1.0-py3-none-any.whl?token=secret").values()
    assert "404" in only_error(outcome)
    assert "secret" not in repr(outcome)


def test_a_store_is_read_by_fsspec(server: Server) -> None:
    import fsspec

    store = fsspec.filesystem("memory")
    for each in server.folder.glob("*linux*.whl"):
        store.pipe(f"/bucket/{each.name}", each.read_bytes())
    found = scanned("memory://bucket/")
    assert len(found) == 2
    for path, outcome in found.items():
        local = Worker(work()).scan(local_unit(path.rpartition("/")[2], str(server.folder)))
        assert rows(outcome) == rows(local)
    beta = next(outcome for path, outcome in found.items() if "beta" in path)
    assert beta.rows["wheels"][0]["bytes_read"] < 400_000


def test_a_store_of_absolute_paths_keeps_them_absolute(server: Server) -> None:
    (path,) = server.folder.glob("alpha*linux*")
    (outcome,) = scanned(f"local://{path}").values()
    assert rows(outcome) == rows(Worker(work()).scan(local_unit(path.name, str(server.folder))))
    assert outcome.path == f"file://{path}"


def test_a_store_that_fsspec_does_not_know_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="nostore"):
        list(units_of(["nostore://bucket/"], "/"))


def test_a_full_disk_is_an_error_of_that_wheel(server: Server) -> None:
    import resource
    import signal

    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    server.ranges = False
    try:
        # EFBIG instead of the ENOSPC of a full disk: the same OSError of the same write.
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
        (outcome,) = scanned(f"{server.url}/simple/beta/").values()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert "no space for it" in only_error(outcome)


def test_nothing_of_a_target_that_cannot_be_listed_is_silent() -> None:
    with pytest.raises(UnreadableFile, match="it is empty or does not exist"):
        list(remote_files("memory://no-such-bucket/"))


def test_the_url_of_a_wheel_is_a_target_of_every_scan(server: Server, tmp_path: Path) -> None:
    from abiscan.analysis.run import scan
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.loader import LoaderSettings

    (path,) = server.folder.glob("beta*")
    found = scan(
        [f"{server.url}/files/{path.name}#sha256=00"], ScanOptions("2.13.0", None, LoaderSettings(str(tmp_path)))
    )
    local = scan([str(path)], ScanOptions("2.13.0", None, LoaderSettings(str(tmp_path))))
    assert [(a.member, a.verdict, a.imports) for a in found.artifacts] == [
        (a.member, a.verdict, a.imports) for a in local.artifacts
    ]
    assert any("read by ranges" in note for note in found.notes)
    assert server.sent < 400_000


def test_of_a_file_here_each_byte_counts_once(server: Server) -> None:
    for path in server.folder.glob("*linux*"):
        (row,) = Worker(work()).scan(local_unit(path.name, str(server.folder))).rows["wheels"]
        assert 0 < row["bytes_read"] <= row["size"] == path.stat().st_size


def test_pieces_that_overlap_are_counted_once() -> None:
    import random

    from abiscan.registry.scan_unit import _Meter

    chance = random.Random(1)
    for _ in range(200):
        meter, read = _Meter(), set[int]()
        for _ in range(30):
            start, size = chance.randrange(100), chance.randrange(1, 12)
            meter.read(start, start + size)
            read.update(range(start, start + size))
            assert meter.distinct == len(read)


def test_a_page_without_its_slash_is_reported(server: Server) -> None:
    for project in ("", "/alpha"):
        with pytest.raises(UsageError, match=f"ends with a slash: {server.url}/simple{project}/$"):
            list(units_of([f"{server.url}/simple{project}"], "/"))


def test_a_refused_connection_is_reported_in_plain_words() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: refused by connect(2)
        (found,) = units_of([f"http://127.0.0.1:{nobody.getsockname()[1]}/simple/"], "/")
    assert isinstance(found, InputError)
    assert found.message == "cannot be read after 3 attempts: the connection was refused: no server listens there"


def test_the_newest_releases_in_a_directory(tmp_path: Path) -> None:
    """By the file names, with the rules of an index: no pre-release where there is a final one (PEP 440)."""
    for name in ("a_b-1.9-", "a_b-1.10-", "A.B-1.10-1-", "a_b-2.0rc1-", "c-3.0rc1-"):
        (tmp_path / f"{name}py3-none-any.whl").write_bytes(b"PK\x03\x04")
    (tmp_path / "other.zip").write_bytes(b"PK\x03\x04")
    found = [each for each in units_of([str(tmp_path)], str(tmp_path), latest=1) if isinstance(each, Unit)]
    names = {Path(each.display).name.removesuffix("py3-none-any.whl") for each in found}
    assert names == {"a_b-1.10-", "A.B-1.10-1-", "c-3.0rc1-", "other.zip"}
