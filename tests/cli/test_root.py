"""`--root`: a file system in a directory, with links that lead out of it. Nothing outside is opened, nothing is run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import abiscan
from abiscan.elf import open_elf
from abiscan.environment.python import read_environment
from abiscan.filesystem import FileSystem
from abiscan.loader import Loader, LoaderSettings
from abiscan.loader.linker import interpreter_of
from abiscan.model.loading import LoaderOutcome, LoaderPrediction
from tests.fixtures.wheels import record_package
from tests.programs import abiscan_process, output_of, run_abiscan

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
PACKAGE = Path(abiscan.__file__).parent
# Prints every path that Python opens or lists, and every program that it starts (sys.audit, "Audit events table").
TRACED = """
import os, sys
del sys.path[0]
log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def note(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "os.exec", "os.posix_spawn", "subprocess.Popen"):
        if arguments[0] is not None and not isinstance(arguments[0], int):
            os.write(log, b"%s\\t%s\\n" % (event.encode(), os.fsencode(arguments[0])))
sys.addaudithook(note)
from abiscan.cli import run
sys.exit(run())
"""


def build(source: str, path: Path, *flags: str) -> None:
    subprocess.run(["gcc", "-shared", "-fPIC", "-xc", "-", "-o", path, *flags], input=source.encode(), check=True)


def copy_into(root: Path, path: str) -> None:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(Path(path).read_bytes())
    target.chmod(0o755)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """An image with this interpreter and its needed libraries (ldd), and links out of it."""
    root = tmp_path / "image"
    python = os.path.realpath(sys.executable)
    version = f"python{sysconfig.get_python_version()}"
    copy_into(root, python)
    linker = interpreter_of(open_elf(python))
    assert linker is not None
    copy_into(root, linker)
    for line in output_of(["ldd", python]).splitlines():
        path = line.partition("=>")[2].split(" (")[0].strip()
        if path:
            copy_into(root, path)
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    (root / "usr/bin/python3").unlink(missing_ok=True)
    (root / "usr/bin/python3").symlink_to(python)
    prefix = root / Path(python).parents[1].relative_to("/")
    site = prefix / "lib" / version / "site-packages"
    site.mkdir(parents=True)
    (prefix / "lib" / version / "lib-dynload").mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    build("int answer(void) { return 42; }", outside / "libanswer.so", "-Wl,-soname,libanswer.so")
    out = "../" * 20 + str(outside).lstrip("/")
    (root / "opt/farm").mkdir(parents=True)
    (root / "opt/farm/libanswer.so").symlink_to(out + "/libanswer.so")
    (root / "opt/direct").symlink_to(outside)
    (root / "opt/upward").symlink_to(out)
    (root / "opt/loop").symlink_to("/opt/loop")
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/ld.so.cache").symlink_to(outside / "ld.so.cache")
    (outside / "ld.so.cache").write_bytes(Path("/etc/ld.so.cache").read_bytes())
    (root / "etc/ld.so.preload").write_text(f"{outside}/libanswer.so /opt/farm/libanswer.so\n")
    (site / "out.pth").write_text(f"{outside}\n{out}\n/opt/direct\n")
    (site / "nvidia").symlink_to(outside)
    (site / "torch").symlink_to(outside)
    (outside / "__init__.py").write_text("")
    (outside / "packaged").mkdir()
    (outside / "outside.h").write_text("struct Outside {};\n")
    (root / "opt/outside.h").symlink_to(out + "/outside.h")
    (root / "opt/kernel.cu").write_text(
        f'#include "outside.h"\n#include "{out}/outside.h"\n#include "direct/outside.h"\n'
        "__global__ void f(const c10::Half* x) { __ldg(x); }\n"
    )
    rpath = f"-Wl,-rpath,{outside}:$ORIGIN/{out}:/opt/farm:/opt/direct:/opt/loop:/opt/later"
    user = "extern int answer(void); int use(void) { return answer(); }"
    build(user, root / "opt/_user.so", rpath, f"-L{outside}", "-lanswer")
    return root


def run(
    image: Path, *args: str, command: str = "scan"
) -> tuple[subprocess.CompletedProcess[str], list[tuple[str, str]]]:
    """Run abiscan with the image. Return the paths that it opened."""
    log = image.parent / "log"
    log.unlink(missing_ok=True)
    variables = {"LD_LIBRARY_PATH": f"{image.parent}/outside", "XDG_DATA_HOME": str(image.parent / "data")}
    words = (str(log), command, "--root", "image", *args)
    done = abiscan_process()(TRACED, *words, cwd=str(image.parent), environment=os.environ | variables, seconds=60)
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    return done, [(event, path) for event, _, path in (line.partition("\t") for line in log.read_text().splitlines())]


def assert_confined(image: Path, events: list[tuple[str, str]]) -> None:
    # The user's own release index belongs to abiscan.
    own = [
        str(PACKAGE),
        str(image.parent / "data/abiscan/releases"),
        sys.prefix,
        sys.base_prefix,
        *filter(None, sys.path),
    ]
    own += [os.path.realpath(path) for path in own]
    own = [path for path in own if not str(image).startswith(path.rstrip("/") + "/")]
    for event, path in events:
        if event in ("os.exec", "os.posix_spawn", "subprocess.Popen"):
            # ctypes.util.find_library runs these to find this machine's C++ runtime, for the demangler.
            assert os.path.basename(path) in ("ldconfig", "sh", "gcc", "ld"), (event, path)
            assert not path.startswith(str(image.parent)), (event, path)
            continue
        full = os.path.normpath(os.path.join(image.parent, path))
        if full == os.devnull or any(full == each or full.startswith(each.rstrip("/") + "/") for each in own):
            continue
        # Opened paths contain no links for the kernel to follow.
        assert full.startswith(f"{image}/") or full == str(image), (event, path)
        assert os.path.realpath(full) == full, (event, path)


TARGETS = [
    ("/opt/_user.so",),
    ("image/opt/_user.so", "--python", "/usr/bin/python3"),
    ("opt", "--python", "image/usr/bin/python3"),
    ("/",),
    ("/opt/direct",),
    ("/opt/loop",),
    ("/opt/farm/libanswer.so",),
    ("/opt/_user.so", "--torch", "2.9.0", "--matrix", "--hash", "-v"),
    ("/opt/_user.so", "--torch", "/opt/direct"),
    ("packaged",),
    ("/opt/kernel.cu",),
    ("opt/kernel.cu", "/opt/_user.so"),
    ("-j", "2", "opt"),
]


@pytest.mark.parametrize("arguments", TARGETS, ids=" ".join)
def test_nothing_outside_is_opened(image: Path, arguments: tuple[str, ...]) -> None:
    done, events = run(image, *arguments)
    assert done.returncode in (0, 1, 2, 3), (done.stdout, done.stderr)
    assert any(path.startswith(f"{image}/") for _, path in events)
    assert_confined(image, events)


ENVIRONMENTS = ((), ("--python", "/usr/bin/python3"), ("--python", "image/usr/bin/python3", "--torch", "2.9.0"))


@pytest.mark.parametrize("arguments", ENVIRONMENTS, ids=" ".join)
def test_nothing_outside_of_an_environment_is_opened(image: Path, arguments: tuple[str, ...]) -> None:
    """One package is in the image; the RECORD of another names files outside, and a link leads there."""
    (site,) = image.glob("**/site-packages")
    outside = image.parent / "outside"
    (site / "user").mkdir()
    (site / "user/_user.so").write_bytes((image / "opt/_user.so").read_bytes())
    (site / "user/_out.so").symlink_to(outside / "libanswer.so")
    for name, files in {"user": ["user/_user.so", "user/_out.so"], "out": [f"{outside}/libanswer.so"]}.items():
        record_package(site, name, *files)
    (site / "out-1.0.dist-info/direct_url.json").write_text(
        json.dumps({"url": f"file://{outside}", "dir_info": {"editable": True}})
    )
    done, events = run(image, *arguments, "-f", "json", command="env")
    assert_confined(image, events)
    found = json.loads(done.stdout)
    assert found["root"] == "image"
    assert [(package["name"], package["files"]) for package in found["packages"]] == [("user", 1)]


def test_a_library_outside_does_not_serve_and_one_inside_does(image: Path) -> None:
    """As the loader of the image in a chroot: no libanswer.so, then the one at the end of the last RPATH."""
    files = FileSystem(str(image), "image")

    def predict() -> LoaderPrediction:
        model = Loader(LoaderSettings("/", files=files), read_environment("/usr/bin/python3", files=files))
        return model.predict(open_elf(image / "opt/_user.so"), "/opt/_user.so")

    said = predict()
    assert said.outcome is LoaderOutcome.FAILS
    assert said.error == "libanswer.so: cannot open shared object file: No such file or directory"
    (image / "later").mkdir()
    (image / "later/libanswer.so").write_bytes((image.parent / "outside/libanswer.so").read_bytes())
    (image / "opt/later").symlink_to("/later")
    assert predict().outcome is LoaderOutcome.LOADS


def test_the_report_has_the_root_and_paths_of_the_image(image: Path) -> None:
    for target in ("/opt/_user.so", "image/opt/_user.so", str(image / "opt/_user.so")):
        done, _ = run(image, "-f", "json", target)
        report = json.loads(done.stdout)
        assert (report["root"], report["artifacts"][0]["path"]) == ("image", "/opt/_user.so")
    done, _ = run(image, "--torch", "installed", "/opt/_user.so")
    assert (done.returncode, "no torch in Python" in done.stderr) == (2, True)  # a link that leads out


def test_a_script_in_the_place_of_the_interpreter_is_not_run(image: Path) -> None:
    script = image / "usr/bin/python3"
    script.unlink()
    script.write_text(f"#!/bin/sh\ntouch {image.parent}/was-run\necho {sys.executable}\n")
    script.chmod(0o755)
    done, events = run(image, "--python", "/usr/bin/python3", "/opt/_user.so")
    assert (done.returncode, "nothing below --root is run" in done.stderr) == (2, True)
    assert_confined(image, events)
    done, events = run(image, "/opt/_user.so")
    assert_confined(image, events)
    assert not (image.parent / "was-run").exists()


@pytest.mark.parametrize("target", ["local://{}", "file://{}", "http://localhost:1/x.whl", "einops==0.7.0"])
@pytest.mark.parametrize("listed", [False, True])
def test_nothing_is_fetched_into_a_root(tmp_path: Path, target: str, listed: bool) -> None:
    """`local` is fsspec's scheme for local files (`fsspec.implementations.local`)."""
    (tmp_path / "image").mkdir()
    outside = tmp_path / "outside-1.0-py3-none-any.whl"
    with zipfile.ZipFile(outside, "w") as wheel:
        wheel.write(FIXTURES / "empty-library.so", "x.so")
    (tmp_path / "list").write_text(target.format(outside))
    words = ["-r", "list"] if listed else [target.format(outside)]
    done, events = run(tmp_path / "image", *words)
    assert done.returncode == 2, done.stdout
    assert not done.stdout
    assert [line.endswith("nothing is fetched with --root") for line in done.stderr.splitlines()] == [True]
    assert not any(str(outside) in path for _, path in events)


def test_a_root_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "image").write_text("")
    done = run_abiscan("--root", "image", "x.so", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "--root image: not a directory" in done.stderr


def test_one_that_is_not_a_usual_link_is_followed_as_python_does(tmp_path: Path) -> None:
    """/bin/python3 with /bin as a link to usr/bin, as in every merged /usr: its packages are below /usr (getpath of
    CPython resolves the links of its own path first)."""
    root = tmp_path / "image"
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/python3.11").write_bytes((FIXTURES / "good-extension.so").read_bytes())
    (root / "usr/bin/python3").symlink_to("python3.11")
    (root / "bin").symlink_to("usr/bin")
    (root / "usr/lib/python3/dist-packages").mkdir(parents=True)
    found = read_environment("/bin/python3", files=FileSystem(str(root), "image"))
    assert (found.executable, found.prefix) == ("/usr/bin/python3.11", "/usr")
    assert found.site_packages == ("/usr/lib/python3/dist-packages",)
