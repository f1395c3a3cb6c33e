"""`diff`, `compat`, `env` and `migrate` as a user runs them, compared with nm, readelf and the real loader."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from abiscan.data import data_file
from abiscan.model.release import ReleaseState
from tests import torch_here
from tests.cli.test_cli import run
from tests.fixtures.wheels import make_wheel, record_package
from tests.programs import run_program

FIXTURES = Path(__file__).parents[1] / "fixtures"
GOOD, OLD_STRING = FIXTURES / "good-extension.so", FIXTURES / "old-string-extension.so"
# Loads on 2.3.0-2.11.0, where the good extension loads on 2.13.0 and later.
EARLIER = FIXTURES / "gcc-const-data-ptr.so"
STABLE = FIXTURES / "stable-abi.so"


def answer(kind: str, *args: str | Path, status: int, **env: str) -> dict[str, Any]:
    """The JSON of a command, validated with its part of the schema."""
    done = run(*args, "-f", "json", **env)
    assert done.returncode == status, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    schema = json.loads(Path(data_file("report.schema.json")).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator({"$defs": schema["$defs"], "$ref": f"#/$defs/{kind}"}).validate(document)
    return document


def strong_imports(path: Path) -> set[str]:
    """Undefined names that are not weak, by nm."""
    done = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=True)
    rows = (line.split() for line in done.stdout.splitlines())
    return {row[-1].partition("@")[0] for row in rows if row[-2] == "U"}


def of_torch(names: set[str]) -> set[str]:
    """Names in torch namespaces by their mangled prefixes (Itanium C++ ABI, 5.1), and C shims."""
    return {name for name in names if re.match(r"_ZT?[NIVS]?[KNR]*(2at|3c10|5torch|6caffe2)|aoti_torch_|torch_", name)}


@pytest.fixture
def two_wheels(tmp_path: Path) -> tuple[Path, Path]:
    """The newer one has one more file, which loads on no CPU or CUDA build of 2.13.0, and one more requirement."""
    marker = 'os_name == "nt" and python_version > "3.9"'
    wheels = []
    for version, files, requires in (
        ("1.0", {"demo/_C.so": GOOD}, ["numpy<2"]),
        ("2.0", {"demo/_C.so": GOOD, "demo/_D.so": OLD_STRING}, ["numpy", f"numpy<3; {marker}"]),
    ):
        path = tmp_path / f"demo-{version}-cp311-cp311-manylinux_2_28_x86_64.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, source in files.items():
                archive.write(source, name)
            lines = "".join(f"Requires-Dist: {line}\n" for line in requires)
            archive.writestr(
                f"demo-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: demo\nVersion: {version}\n{lines}"
            )
        wheels.append(path)
    return wheels[0], wheels[1]


# --- diff -------------------------------------------------------------------------------------------------------


def test_diff_reports_new_files_and_their_outcome(two_wheels: tuple[Path, Path]) -> None:
    shown = run("diff", *two_wheels, COLUMNS="400").stdout
    assert re.search(r"adds demo/_D\.so, which does not load on \S", shown)
    assert 'numpy<2 -> numpy, and numpy<3; os_name == "nt" and python_version > "3.9"' in shown


def test_diff_has_the_names_of_torch_that_nm_has() -> None:
    found = answer("diff", "diff", GOOD, OLD_STRING, status=1)
    (imports,) = [c for c in found["changes"] if c["text"].startswith("imports of torch")]
    old, new = of_torch(strong_imports(GOOD)), of_torch(strong_imports(OLD_STRING))
    assert old - new
    assert set(imports["removed"]) >= old - new
    assert set(imports["added"]) >= new - old
    assert not set(imports["removed"]) & new
    assert not set(imports["added"]) & old


def test_diff_loses_and_gains_the_releases_that_one_alone_loads_on() -> None:
    """The releases of each are those of its own scan."""

    fits = [state for state in ReleaseState if state.fits]

    def loads(path: Path) -> set[str]:
        document = json.loads(run(path, "--torch", "declared", "--matrix", "-f", "json").stdout)
        return {f"{r['torch']}+{r['variant']}" for r in document["artifacts"][0]["releases"] if r["state"] in fits}

    found = answer("diff", "diff", GOOD, EARLIER, status=1)
    lost, gained = (
        [c for c in found["changes"] if c["aspect"] == "torch" and c["effect"] == e and not c["files"]]
        for e in ("lost", "gained")
    )
    assert set(lost[0]["removed"]) == loads(GOOD) - loads(EARLIER)
    assert set(gained[0]["added"]) == loads(EARLIER) - loads(GOOD)
    assert found["regressed"]
    assert lost[0]["regresses"]
    assert found["changes"][0] == lost[0]


def test_a_file_against_itself_is_the_same() -> None:
    done = run("diff", GOOD, GOOD)
    assert done.returncode == 0
    assert done.stdout.startswith("SAME ")


def test_the_floor_of_a_file_agrees_with_readelf() -> None:
    done = subprocess.run(["readelf", "-V", "-W", GOOD], capture_output=True, text=True, check=True)
    newest = max(tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_([\d.]+)", done.stdout))
    found = answer("compat", "compat", GOOD, status=0)
    floors = {f["part"]: tuple(f["version"]) for f in found["common"]["floors"]}
    assert floors["glibc"] == newest


def _wheel(path: Path, version: str, requires: str, tag: str = "cp311-cp311-manylinux_2_28_x86_64") -> Path:
    return make_wheel(path, {"pkg/_C.so": GOOD}, version=version, tag=tag, requires=requires)


def test_a_requirement_that_admits_less_shrinks_a_wheel_with_the_same_file(tmp_path: Path) -> None:
    old = _wheel(tmp_path, "1.0", "torch")
    new = _wheel(tmp_path, "1.1", "torch (==2.13.0)")
    found = answer("diff", "diff", old, new, status=1)
    first = found["changes"][0]
    assert (first["aspect"], first["regresses"]) == ("torch", True)
    works = [[b["torch"] for b in found[side]["compatibility"]["torch"] if b["compatible"]] for side in ("old", "new")]
    assert works[1] == ["2.13.0"]
    assert [name.partition("+")[0] for name in first["removed"]] == [v for v in works[0] if v != "2.13.0"]
    assert any(c["text"] == "torch -> torch==2.13.0" for c in found["changes"])
    assert answer("diff", "diff", new, old, status=0)["regressed"] is False


def test_another_python_and_an_older_system_are_reported(tmp_path: Path) -> None:
    old = _wheel(tmp_path, "1.0", "", "cp311-cp311-manylinux_2_28_x86_64")
    new = _wheel(tmp_path, "1.1", "", "cp312-cp312-manylinux_2_34_x86_64")
    found = answer("diff", "diff", old, new, status=1)
    assert [(c["aspect"], c["removed"], c["added"]) for c in found["changes"] if c["regresses"]] == [
        ("python", ["3.11"], []),
        # The file requires more than the tag of the old wheel (readelf -V: GLIBC_2.32).
        ("system", ["glibc 2.32"], ["glibc 2.34"]),
    ]


def test_a_file_that_cannot_be_read_leaves_it_undecided(tmp_path: Path) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes(GOOD.read_bytes()[:200])
    found = answer("diff", "diff", GOOD, broken, status=3)
    assert found["changes"] == []
    assert found["undecided"]
    assert run("diff", GOOD, tmp_path / "absent.so").returncode == 2


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_hostile_names_do_nothing(tmp_path: Path, form: str) -> None:
    """tests/fixtures/hostile-names.so imports names with escapes and markup."""
    done = run("diff", "-v", GOOD, FIXTURES / "hostile-names.so", "-f", form)
    assert done.returncode in (0, 1, 3)
    assert not done.stderr
    assert "\x1b" not in done.stdout
    # The two of the page: data and script.
    assert done.stdout.count("<script") == (2 if form == "html" else 0)


# --- compat -----------------------------------------------------------------------------------------------------


def test_two_std_strings_load_together_nowhere() -> None:
    found = answer("compat", "compat", GOOD, OLD_STRING, status=1)
    assert "torch" in found["conflicts"]
    assert not any(build["compatible"] for build in found["common"]["torch"])


def test_a_single_input_agrees_with_its_scan() -> None:
    found = answer("compat", "compat", STABLE, status=0)
    document = json.loads(run(STABLE, "--torch", "declared", "--matrix", "-f", "json").stdout)
    loads = [r["torch"] for r in document["artifacts"][0]["releases"] if r["state"] == "loads"]
    assert [b["torch"] for b in found["common"]["torch"] if b["compatible"]] == loads


# --- migrate ----------------------------------------------------------------------------------------------------


def test_a_plan_counts_each_file_and_compares_with_an_earlier_one(tmp_path: Path) -> None:
    """The scan of the files is the oracle of the names; `abiscan fix` that of the rewrites."""
    tree, plan = tmp_path / "src", tmp_path / "plan.json"
    tree.mkdir()
    for name in ("const_data_ptr.cpp", "stable_abi.cpp"):
        shutil.copy(GOOD.parent / "src" / name, tree)
    before = answer("migration", "migrate", tree, status=0)
    by_file = {Path(each["path"]).name: each for each in before["files"]}
    left = [r for r in before["replacements"] if r["kind"] != "inlined"]
    (own,) = [each for each in by_file.values() if each["rewrite"]]
    assert own["rewrite"] == sum(len(r["names"]) for r in left)
    assert own["places"] == sum(r["total"] for r in left)
    assert own["none"] == sum(len(r["names"]) for r in left if r["kind"] == "none")
    rewritten = run("fix", tree)
    assert [Path(each["path"]).name for each in before["rewrites"]] == [
        name for name in by_file if f"+++ b/src/{name}" in rewritten.stdout or f"/{name}\n" in rewritten.stdout
    ]
    plan.write_text(json.dumps(before))
    assert run("migrate", tree, "--baseline", plan).stdout.count("no change") == 1
    (tree / "const_data_ptr.cpp").unlink()
    after = run("migrate", tree, "--baseline", plan).stdout
    assert f"{own['rewrite']} fewer to replace in all files" in after.replace("\n  ", " ")
    plan.write_text("{}")
    refused = run("migrate", tree, "--baseline", plan)
    assert (refused.returncode, "not a plan of abiscan migrate; write it with" in refused.stderr) == (2, True)


# --- env --------------------------------------------------------------------------------------------------------


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment with two packages, and without torch."""
    root = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root], check=True)
    _install(root, "good", GOOD, "torch", "old")
    _install(root, "old", EARLIER, "torch>=2.0")
    return root


def _site(root: Path) -> Path:
    return root / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def _install(root: Path, name: str, file: Path, *requires: str) -> None:
    site = _site(root)
    (site / name).mkdir()
    shutil.copy(file, site / name / "_C.so")
    record_package(site, name, f"{name}/_C.so", requires=requires)


def test_an_upgrade_agrees_with_the_scan_of_each_file(environment: Path) -> None:
    for torch, failing in (("2.7.0", "good"), ("2.13.0", "old")):
        found = answer("environment", "env", "--python", environment, "--torch", torch, status=1)
        outcomes = {p["name"]: p["after"]["state"] for p in found["packages"]}
        assert outcomes == {"good": "loads", "old": "loads", failing: "fails"}
        (row,) = [p for p in found["packages"] if p["action"] == "replace"]
        assert (row["name"], row["step"]) == (failing, 1)
        assert found["packages"][0] == row
        assert found["after"].startswith(torch)


def test_the_environment_of_a_fix_loads(environment: Path) -> None:
    """`env --torch` with the torch of the fix is the oracle."""
    both = answer("environment", "env", "--python", environment, "--fix", status=1)["fix"]
    assert (both["torch"], [each["package"] for each in both["conflicts"]]) == (None, ["good", "old"])
    shutil.rmtree(_site(environment) / "good-1.0.dist-info")
    fix = answer("environment", "env", "--python", environment, "--fix", status=1)["fix"]
    assert f"torch=={fix['torch'].partition('+')[0]}" in fix["command"].split()
    assert fix["kept"] == 1
    found = answer("environment", "env", "--python", environment, "--torch", fix["torch"], "--fix", status=0)
    assert (found["fix"]["torch"], found["fix"]["command"]) == (fix["torch"], fix["command"])


def test_without_a_torch_nothing_that_needs_one_loads(environment: Path) -> None:
    """Its interpreter agrees: the needed libraries of both files are missing."""
    _install(environment, "plain", GOOD.with_name("empty-library.so"))
    found = {p["name"]: p["now"] for p in answer("environment", "env", "--python", environment, status=1)["packages"]}
    assert {name: now["state"] for name, now in found.items()} == {
        "good": "fails",
        "old": "fails",
        "plain": "not-torch",
    }
    for name in found:
        file = _site(environment) / name / "_C.so"
        command = [environment / "bin" / "python", "-c", f"import ctypes; ctypes.CDLL({str(file)!r})"]
        loads = subprocess.run(command, capture_output=True, check=False, env={})
        assert (loads.returncode == 0) == (name == "plain")
        assert ("no torch is installed here" in found[name]["reason"]) == (name != "plain")


def test_what_others_need_is_replaced_first(environment: Path) -> None:
    """`good` requires `old`; both must be replaced for a release that neither allows."""
    for name in ("good", "old"):
        metadata = _site(environment) / f"{name}-1.0.dist-info" / "METADATA"
        metadata.write_text(metadata.read_text() + "Requires-Dist: torch==2.5.0\n")
    found = answer("environment", "env", "--python", environment, "--torch", "2.13.0", status=1)
    assert [(p["name"], p["step"], p["after"]["allowed"]) for p in found["packages"]] == [
        ("old", 1, False),
        ("good", 2, False),
    ]


def test_what_came_from_a_directory_is_rebuilt(environment: Path) -> None:
    url = '{"url": "file:///src/old", "dir_info": {}}'
    (_site(environment) / "old-1.0.dist-info" / "direct_url.json").write_text(url)
    found = answer("environment", "env", "--python", environment, "--torch", "2.13.0", status=1)
    assert [p["action"] for p in found["packages"] if p["name"] == "old"] == ["rebuild"]


def test_an_editable_package_is_checked_in_its_source_tree(environment: Path, tmp_path: Path) -> None:
    tree = tmp_path / "src with space"
    (tree / "pkg").mkdir(parents=True)
    (tree / "pyproject.toml").touch()
    info = record_package(_site(environment), "pkg")
    url = {"url": tree.as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(url))

    def packages() -> list[dict[str, Any]]:
        found = json.loads(run("env", "--python", environment, "-f", "json").stdout)["packages"]
        return [package for package in found if package["name"] == "pkg"]

    assert packages() == []
    shutil.copy(GOOD, tree / "pkg" / "_C.so")
    assert [package["files"] for package in packages()] == [1]
    (artifact,) = json.loads(run("pkg", "--python", environment, "-f", "json").stdout)["artifacts"]
    assert artifact["path"] == str(tree / "pkg" / "_C.so")


def test_two_copies_of_a_runtime_are_reported(environment: Path) -> None:
    site = _site(environment)
    for name, file in (("good", "libgomp-a34b3233.so.1"), ("old", "libiomp5.so")):
        (site / name / file).write_bytes(GOOD.read_bytes())
        with (site / f"{name}-1.0.dist-info" / "RECORD").open("a") as record:
            record.write(f"{name}/{file},,\n")
    problems = json.loads(run("env", "--python", environment, "-f", "json").stdout)["problems"]
    (text,) = [p["text"] for p in problems if p["kind"] == "several-runtimes"]
    assert text == "several copies of the OpenMP runtime: libgomp.so.1 of good (good); libiomp5.so of old (old)"


@pytest.mark.torch
def test_two_torches_are_reported_with_the_imported_one(environment: Path, tmp_path: Path) -> None:
    """Oracle: the torch that `import` finds in the interpreter."""
    (_site(environment) / "torch").symlink_to(torch_here.directory())
    other = tmp_path / "other" / "torch"
    other.mkdir(parents=True)
    for name in ("version.py", "__init__.py", "lib"):
        (other / name).symlink_to(torch_here.directory() / name)
    code = "import importlib.util; print(importlib.util.find_spec('torch').origin)"
    path = str(other.parent)
    taken = subprocess.run(
        [environment / "bin" / "python", "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(run("env", "--python", environment, "-f", "json", PYTHONPATH=path).stdout)
    (text,) = [p["text"] for p in found["problems"] if p["kind"] == "several-torches"]
    assert f"`import torch` uses {Path(taken.stdout.strip()).parent}" in text


def _link_torch(environment: Path, *, without: str) -> None:
    """The torch of the tests and its requirements, without one library."""
    source, site = torch_here.directory(), _site(environment)
    for each in torch_here.installed_entries():
        if each.name != "torch":
            (site / each.name).symlink_to(each)
    (site / "torch" / "lib").mkdir(parents=True)
    for folder in ("", "lib"):
        for each in (source / folder).iterdir():
            if each.name not in ("lib", without):
                (site / "torch" / folder / each.name).symlink_to(each)


def _python(environment: Path, code: str) -> subprocess.CompletedProcess[str]:
    python = environment / "bin" / "python"
    return run_program([python, "-c", code], env={}, cwd="/")


@pytest.mark.torch
def test_a_torch_that_cannot_be_imported_is_reported_first(environment: Path) -> None:
    """Oracle: `import torch`, which fails at the same library."""
    _link_torch(environment, without="libshm.so")
    real = _python(environment, "import torch")
    assert "libshm.so: cannot open shared object file" in real.stderr
    found = answer("environment", "env", "--python", environment, status=1)
    first = found["problems"][0]
    assert first["kind"] == "torch-fails"
    assert "`import torch` itself fails: libshm.so: cannot open shared object file" in first["text"]
    assert f" install --force-reinstall torch=={torch_here.version()[0]}" in first["command"]
    states = {p["name"]: p["now"]["state"] for p in found["packages"]}
    assert (states["good"], states["old"]) == ("fails", "fails")
    shown = run("env", "--python", environment).stdout
    assert shown.startswith("FAILS ")
    assert shown.index("libshm.so") < shown.index("good 1.0")
    # A scan agrees, and does not report torch symbols as missing.
    done = run("--python", environment, "good", "-f", "json")
    (scanned,) = json.loads(done.stdout)["artifacts"]
    assert (done.returncode, scanned["verdict"], scanned["import_counts"]["missing"]) == (1, "loads", 0)
    assert scanned["loader"]["error"].startswith("`import torch` itself fails: libshm.so: cannot open")
    assert [f["rule"] for f in scanned["findings"] if f["severity"] == "error"] == ["loader-refuses"]
    assert scanned["causes"] == []


def test_what_torch_requires_and_is_not_installed_is_named(environment: Path) -> None:
    """A requirement with a marker (CUDA libraries) is left to the loader prediction."""
    site = _site(environment)
    (site / "torch").mkdir()
    requires = ("typing-extensions>=4.10", "old", "nccl; sys_platform == 'linux'")
    record_package(site, "torch", version="2.13.0", requires=requires)
    (site / "torch" / "lib").mkdir()
    for name in ("libc10.so", "libtorch_cpu.so"):
        shutil.copy(GOOD.with_name("empty-library.so"), site / "torch" / "lib" / name)
    (site / "torch" / "__init__.py").write_text("import typing_extensions\n")
    (site / "torch" / "version.py").write_text("__version__ = '2.13.0'\n")
    assert "No module named 'typing_extensions'" in _python(environment, "import torch").stderr
    found = json.loads(run("env", "--python", environment, "-f", "json").stdout)
    (text,) = [p["text"] for p in found["problems"] if p["kind"] == "missing-requirements"]
    assert text == "torch 2.13.0 requires typing-extensions, not installed here: `import torch` may fail"


@pytest.mark.torch
def test_a_library_of_its_own_package_is_not_missing(environment: Path) -> None:
    """Neither `target.so` has a run path. The interpreter can open it after the library of its package, but not
    alone."""
    folder, site = FIXTURES / "loader" / "library-path-origin", _site(environment)
    _link_torch(environment, without="")
    _install(environment, "whole", folder / "target.so")
    _install(environment, "torso", folder / "target.so")
    shutil.copy(folder / "libdep.so", site / "whole" / "libdep.so")
    record = site / "whole-1.0.dist-info" / "RECORD"
    record.write_text(record.read_text() + "whole/libdep.so,,\n")
    code = "import ctypes, sys\nfor path in sys.argv[1:]: ctypes.CDLL(path)"
    library, whole, torso = (f"{site}/{name}.so" for name in ("whole/libdep", "whole/_C", "torso/_C"))
    opened = {
        name: subprocess.run([environment / "bin" / "python", "-c", code, *paths], check=False, env={}).returncode == 0
        for name, paths in (("whole", (library, whole)), ("torso", (torso,)))
    }
    assert opened == {"whole": True, "torso": False}
    found = {p["name"]: p for p in answer("environment", "env", "--python", environment, status=1)["packages"]}
    assert {name: found[name]["now"]["failing"] == 0 for name in opened} == opened
    assert found["torso"]["now"]["reason"] == "not found on this machine: libdep.so"
    for name, loads in opened.items():
        document = json.loads(run("--python", environment, name, "-f", "json").stdout)
        refused = [f for a in document["artifacts"] for f in a["findings"] if f["rule"] == "loader-refuses"]
        assert (not refused) == loads


def test_damaged_records_are_no_traceback(environment: Path) -> None:
    site = _site(environment)
    (site / "old-1.0.dist-info" / "direct_url.json").write_text("[" * 100_000)
    (site / "old-1.0.dist-info" / "RECORD").write_text('"' + "x" * 200_000 + '",,\n')
    (site / "good-1.0.dist-info" / "METADATA").write_bytes(b"\xff\xfe\0Name: \x1b[31m\n")
    done = run("env", "--python", environment)
    assert done.returncode in (0, 1, 3)
    assert "Traceback" not in done.stderr
    assert "\x1b[31m" not in done.stdout


@pytest.mark.torch
def test_a_library_that_ld_library_path_shadows_is_the_one_that_is_loaded(environment: Path, tmp_path: Path) -> None:
    """Oracle: the copy that the real loader opens with and without LD_LIBRARY_PATH."""
    source = tmp_path / "dep.c"
    source.write_text("int dep(void) { return 1; }\n")
    user = tmp_path / "user.c"
    user.write_text("int dep(void); int user(void) { return dep(); }\n")
    site, other = _site(environment), tmp_path / "other"
    other.mkdir()
    folder = site / "pkg"
    folder.mkdir()
    (site / "torch").symlink_to(torch_here.directory())
    for place in (folder, other):
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-Wl,-soname,libdep.so.1", "-o", place / "libdep.so.1", source], check=True
        )
    link = ["-Wl,--enable-new-dtags,-rpath,$ORIGIN", f"-L{folder}", "-l:libdep.so.1"]
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "user.so", user, *link], check=True)
    record_package(site, "pkg", "pkg/user.so", "pkg/libdep.so.1")
    code = (
        "import ctypes, sys; ctypes.CDLL(sys.argv[1]); "
        "print(next(l.split()[-1] for l in open('/proc/self/maps') if 'libdep' in l))"
    )
    level = tmp_path / "caps" / "glibc-hwcaps" / "x86-64-v2"
    level.mkdir(parents=True)
    shutil.copy(other / "libdep.so.1", level)
    for path in ("", str(other), str(tmp_path / "caps"), str(level)):
        python = [sys.executable, "-c", code, folder / "user.so"]
        real = subprocess.run(
            python, env={**os.environ, "LD_LIBRARY_PATH": path}, capture_output=True, text=True, check=True
        )
        found = json.loads(run("env", "--python", environment, "-f", "json", LD_LIBRARY_PATH=path).stdout)
        told = [p["text"] for p in found["problems"] if p["kind"] == "shadowed"]
        loaded = Path(real.stdout.strip())
        assert bool(told) == (loaded.parent != folder)
        assert all(str(loaded) in text for text in told)


# --- migrate ----------------------------------------------------------------------------------------------------


def test_every_import_of_torch_is_in_the_plan_once() -> None:
    plan = answer("migration", "migrate", GOOD, status=0)
    planned = [name for replacement in plan["replacements"] for name in replacement["names"]]
    assert len(planned) == len(set(planned))
    names = of_torch(strong_imports(GOOD))
    assert names
    assert names <= {*planned, *plan["stable"]}
    assert 0 <= plan["done"] < 1


def test_a_file_of_c_shims_is_done_and_needs_the_release_of_the_newest() -> None:
    plan = answer("migration", "migrate", STABLE, status=0)
    assert (plan["done"], plan["replacements"]) == (1.0, [])
    assert set(plan["stable"]) == of_torch(strong_imports(STABLE))
    assert plan["minimum"] in plan["stable"].values()


def test_words_of_sources_are_found_with_their_lines(tmp_path: Path) -> None:
    source = tmp_path / "op.cpp"
    source.write_text(
        "#include <torch/extension.h>\n"
        "// TORCH_CHECK in a comment is none\n"
        'const char* s = "at::Tensor";\n'
        "at::Tensor f(at::Tensor x) { TORCH_CHECK(x.dim() == 1);\n"
        "  torch::stable::Tensor y;\n"
        "  return at::nowhere::g(x); }\n"
    )
    plan = answer("migration", "migrate", source, status=0)
    told = {name: [s["line"] for s in r["sites"]] for r in plan["replacements"] for name in r["names"]}
    assert told == {"at::Tensor": [4], "at::Tensor::dim": [4], "TORCH_CHECK": [4], "at::nowhere::g": [6]}
    (unknown,) = [r for r in plan["replacements"] if r["kind"] == "unknown"]
    assert unknown["names"] == ["at::nowhere::g"]
    assert list(plan["stable"]) == ["torch::stable::Tensor"]


def test_a_new_file_that_fails_is_for_no_torch_that_it_does_not_declare(tmp_path: Path) -> None:
    """old-string-extension.so has the std::string of torch before 2.7; neither folder declares a torch."""
    for folder, *files in (("old", GOOD), ("new", GOOD, OLD_STRING)):
        (tmp_path / folder).mkdir()
        for file in files:
            shutil.copy(file, tmp_path / folder)
    done = run("diff", tmp_path / "old", tmp_path / "new")
    said = " ".join(done.stdout.split())
    words = "the (torch that is installed|newest known release for its tags), 2[.]"
    assert re.search(f"old-string-extension.so, which does not load on {words}", said)
    assert "that it is for" not in said


@pytest.mark.torch
def test_a_missing_module_is_named_before_libraries(environment: Path) -> None:
    """The oracle is `import torch`, which imports typing_extensions before it opens a library."""
    (_site(environment) / "torch").symlink_to(torch_here.directory())
    error = "No module named 'typing_extensions'"
    assert error in _python(environment, "import torch").stderr
    first = answer("environment", "env", "--python", environment, status=1)["problems"][0]
    assert f"`import torch` itself fails: {error}" in first["text"]
