"""The command as a user runs it: exit status, first lines, hostile names on a terminal.

Oracle for loading: the real loader (`truth`), in a subprocess that imported torch."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

import abiscan
from abiscan.cli import subject_of
from abiscan.cli.commands import cli
from tests import torch_here
from tests.fixtures.wheels import make_wheel
from tests.forking_process import Run
from tests.programs import run_abiscan, run_program
from tests.tables import table_rows
from tests.truth.oracle import ask

FIXTURES = Path(__file__).parents[1] / "fixtures"


def run(*args: str | Path, stdin: str = "", cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    variables = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "CONDA_PREFIX", "NO_COLOR", "CI")}
    return run_abiscan(*args, stdin=stdin, cwd=cwd, env=variables | env)


def document(*args: str | Path) -> dict[str, object]:
    done = run(*args, "-f", "json")
    assert done.returncode in (0, 1, 3), done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.torch
def test_the_prediction_is_the_loaders_word() -> None:
    """`test_real_fixtures` compares every fixture without the command."""
    names = [
        "good-extension.so",
        "old-string-extension.so",
        "clang-const-data-ptr.so",
        "gcc-const-data-ptr.so",
        "stable-abi.so",
        "stripped-extension.so",
        "no-sections.so",
        "sysv-hash.so",
        "unlinked-libtorch-python.so",
        "missing-library.so",
        "weak-import.so",
        "unreferenced-import.so",
        "python-abi-mismatch.so",
        "cuda-build-required.so",
        "extension-source-not-built.so",
    ]
    wanted = ask([FIXTURES / name for name in names], python=Path(sys.executable), torch=True)
    artifacts: Any = document(*wanted)["artifacts"]
    found = {Path(each["path"]).name: (each["loader"]["outcome"], each["loader"]["error"] or "") for each in artifacts}
    assert found == {Path(path).name: (answer.outcome, answer.text) for path, answer in wanted.items()}


@table_rows
def test_exit_status(name: str, status: int) -> None:
    done = run(FIXTURES / name)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.torch
def test_old_string_build_names_exactly_what_the_loader_cannot_bind(run_with_torch: Run) -> None:
    """Oracle: dlsym of the real loader for each name, in a process with torch."""
    (artifact,) = document(FIXTURES / "old-string-extension.so")["artifacts"]  # type: ignore[misc]
    missing = {i["mangled"] for i in artifact["imports"] if i["status"] == "missing"}  # type: ignore[index]
    names = sorted(
        i["mangled"]
        for i in artifact["imports"]  # type: ignore[index]
        if i["status"] != "weak"
    )
    script = (
        "import torch, ctypes, os, sys, glob\n"
        "lib = os.path.join(os.path.dirname(torch.__file__), 'lib')\n"
        "names = ('libtorch_python.so', 'libtorch.so', 'libtorch_cpu.so', 'libc10.so')\n"
        "handles = [ctypes.CDLL(os.path.join(lib, n)) for n in names]\n"
        "handles += [ctypes.CDLL(None), ctypes.CDLL('libstdc++.so.6'), ctypes.CDLL('libgcc_s.so.1')]\n"
        "for name in sys.argv[1:]:\n"
        "    if not any(hasattr(h, name) for h in handles): print(name)\n"
    )
    done = run_with_torch(script, *names)
    assert done.returncode == 0, done.stderr
    assert missing == set(done.stdout.split())
    assert missing


def test_clang_name_is_explained_in_full() -> None:
    done = run(FIXTURES / "clang-const-data-ptr.so")
    text = " ".join(done.stdout.split())
    assert "GNU's demangler rejects" in text
    assert "at::TensorBase::const_data_ptr<long, 0>() const" in text or "const_data_ptr<float, 0>() const" in text
    assert "exported by no torch release" in text
    assert "data_ptr<float>()" in text
    # Torch until 2.11 exports the name with the flag, `const_data_ptr<float, 0>` (nm -D of the builds).
    assert "-fclang-abi-compat=17" not in text


def test_a_good_file_takes_five_lines_and_a_bad_one_25() -> None:
    assert len(run(FIXTURES / "stable-abi.so").stdout.splitlines()) <= 5
    for name in ("old-string-extension.so", "clang-const-data-ptr.so", "cuda-build-required.so"):
        for option, most in ((), 25), (("-v",), 100):
            assert len(run(FIXTURES / name, *option).stdout.splitlines()) <= most
    # With -vv, each import is listed as in the JSON report.
    (artifact,) = document(FIXTURES / "old-string-extension.so")["artifacts"]  # type: ignore[misc]
    listed = run(FIXTURES / "old-string-extension.so", "-vv").stdout
    assert [each["mangled"] for each in artifact["imports"] if each["mangled"] not in listed] == []  # type: ignore[index]


def test_quiet_prints_what_fails_alone() -> None:
    """For every command with the option: nothing about good files."""
    for command in ([], ["diff", FIXTURES / "stable-abi.so"], ["compat"]):
        done = run(*command, FIXTURES / "stable-abi.so", "-q")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for command in ([], ["compat", FIXTURES / "good-extension.so"]):
        done = run(*command, FIXTURES / "old-string-extension.so", "-q")
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout


def test_the_report_is_valid_deterministic_json() -> None:
    schema = json.loads(run("schema").stdout)
    targets = sorted(FIXTURES.glob("*.so"))
    # Two processes, with two seeds of hashes.
    command = [sys.executable, "-m", "abiscan", *targets, "-f", "json", "--matrix"]
    first, second = (run_program(command).stdout for _ in range(2))
    assert first == second
    jsonschema.validate(json.loads(first), schema)


def test_several_targets_and_the_rest_is_scanned(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe.so"
    os.mkfifo(fifo)
    empty = tmp_path / "empty"
    empty.mkdir()
    found = document(FIXTURES / "bad" / "text.so", fifo, empty, FIXTURES / "stable-abi.so")
    assert [a["verdict"] for a in found["artifacts"]] == ["loads"]  # type: ignore[attr-defined]
    errors = {Path(e["path"]).name: e["message"] for e in found["errors"]}  # type: ignore[attr-defined]
    assert set(errors) == {"text.so", "pipe.so", "empty"}
    assert all("\n" not in message for message in errors.values())
    assert found["verdict"] == "incomplete"


def test_hostile_names_reach_no_terminal() -> None:
    for arguments in ([], ["-v"], ["-f", "github"], ["-f", "markdown"]):
        done = run(FIXTURES / "hostile-names.so", *arguments)
        assert "\x1b" not in done.stdout + done.stderr
        assert "\u202e" not in done.stdout
        assert not any(line.startswith("::error title=x") for line in done.stdout.splitlines())


def test_without_torch_the_newest_build_serves(plain_python: Path) -> None:
    done = run("--python", plain_python, FIXTURES / "clang-const-data-ptr.so")
    assert done.returncode == 1
    assert "the newest known" in " ".join(done.stdout.split())
    # The build is assumed: no advice depends on it.
    assert "fix: Use data_ptr<float>()" in done.stdout
    assert "with your torch installed" in done.stdout
    found = document("--python", plain_python, FIXTURES / "stable-abi.so")
    assert found["torch_build"]["kind"] == "release"  # type: ignore[index]
    assert found["artifacts"][0]["loader"]["outcome"] is None  # type: ignore[index]


@pytest.mark.torch
def test_a_torch_by_its_path_has_its_libraries() -> None:
    folder = torch_here.directory() / "lib"
    found = document("--torch", folder, FIXTURES / "stable-abi.so")
    assert found["torch_build"]["kind"] == "path"  # type: ignore[index]
    assert found["verdict"] == "pass"
    needed = {n["soname"]: n["found"] for n in found["artifacts"][0]["needed"]}  # type: ignore[index]
    assert Path(needed["libtorch_cpu.so"]) == folder / "libtorch_cpu.so"


@pytest.mark.torch
def test_a_damaged_library_of_the_target_is_an_error_and_not_missing_names(tmp_path: Path) -> None:
    folder = torch_here.directory()
    (tmp_path / "torch" / "lib").mkdir(parents=True)
    (tmp_path / "torch" / "version.py").write_bytes((folder / "version.py").read_bytes())
    for name in ("libc10.so", "libtorch.so", "libtorch_python.so"):
        (tmp_path / "torch" / "lib" / name).symlink_to(folder / "lib" / name)
    with (folder / "lib" / "libtorch_cpu.so").open("rb") as file:
        (tmp_path / "torch" / "lib" / "libtorch_cpu.so").write_bytes(file.read(1 << 20))
    found = document("--torch", tmp_path / "torch", FIXTURES / "stable-abi.so")
    assert found["verdict"] == "incomplete"
    (error,) = found["errors"]  # type: ignore[misc]
    assert "libtorch_cpu.so" in error["path"] + error["message"]  # type: ignore[index]
    assert "truncated" in error["message"]  # type: ignore[index]


def test_usage_errors_name_what_is_known() -> None:
    done = run("--torch", "9.9", FIXTURES / "stable-abi.so")
    assert done.returncode == 2
    assert "from 1.0.0 to 2.15.0" in done.stderr
    done = run("-f", "jsn", FIXTURES / "stable-abi.so")
    assert done.returncode == 2
    assert "did you mean json" in done.stderr
    assert run().returncode == 2
    # Every rule that a report may contain can be selected, also those of the gate.
    for name in ("require-torch", "does-not-load"):
        assert run("rules", name).stdout.startswith(f"{name} (error; high confidence")
        assert run("explain", name).stdout == run("rules", name).stdout
    first = run("rules", "c10-cuda-check").stdout.splitlines()[0]
    assert first.startswith("c10-cuda-check (note, error where the import is missing; high confidence")
    assert run("rules", "const-data-prt").returncode == 2


def test_colour_only_where_it_is_wanted() -> None:
    assert "\x1b[" not in run(FIXTURES / "good-extension.so").stdout
    assert "\x1b[" in run(FIXTURES / "good-extension.so", "--color", "always").stdout
    assert "\x1b[" not in run(FIXTURES / "good-extension.so", "--color", "never").stdout


@pytest.mark.parametrize(
    ("environment", "colored"),
    [
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ({"FORCE_COLOR": ""}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_where_the_environment_wants_it(environment: dict[str, str], colored: bool) -> None:
    """As for CPython's tracebacks (Python 3.13, "Controlling color")."""
    assert ("\x1b[" in run(FIXTURES / "stable-abi.so", **{"NO_COLOR": "", **environment}).stdout) == colored


@pytest.mark.parametrize("command", [[], *([name] for name in cli.list_commands(click.Context(cli)))], ids=" ".join)
def test_help_fits_a_terminal_of_80_columns(command: list[str]) -> None:
    shown = run(*command, "--help", COLUMNS="80")
    assert shown.returncode == 0
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_a_baseline_survives_another_choice_of_checks(tmp_path: Path) -> None:
    """A required range, the matrix and the HTML page add checks; other findings stay the same."""
    baseline = tmp_path / "baseline.json"
    files = [FIXTURES / name for name in ("gcc-const-data-ptr.so", "old-string-extension.so", "good-extension.so")]
    options = ("--require-torch", ">=2.4,<2.9", "--matrix", "-f", f"html:{tmp_path / 'page.html'}")
    assert run(*files, *options, "--write-baseline", baseline).returncode == 0
    assert "require-torch" in baseline.read_text()
    for again in ((), options):
        done = run(*files, *again, "--baseline", baseline)
        assert (done.returncode, "stale" in done.stderr) == (0, False), done.stdout + done.stderr
        assert "FAILS" not in done.stdout


def test_writing_a_baseline_tells_what_the_next_run_will(tmp_path: Path) -> None:
    baseline = str(tmp_path / "baseline.json")
    bad = FIXTURES / "clang-const-data-ptr.so"
    written = run(bad, "--torch", "2.13.0", "--write-baseline", baseline)
    again = run(bad, "--torch", "2.13.0", "--baseline", baseline)
    assert (written.returncode, again.returncode) == (0, 0)
    assert written.stdout == again.stdout
    assert written.stderr == f"abiscan: wrote the baseline {baseline}\n{again.stderr}"
    assert again.stderr.startswith("abiscan: pass: ")


@pytest.mark.parametrize("option", ["--baseline", "--write-baseline"])
def test_a_baseline_is_a_file(tmp_path: Path, option: str) -> None:
    """The report goes to standard output: a baseline needs a file."""
    done = run(FIXTURES / "good-extension.so", option, "-", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"abiscan: error: {option} needs the name of a file (`./-` if its name is `-`)\n"
    assert not list(tmp_path.iterdir())


def test_an_accepted_failure_does_not_hide_the_check_that_fails(tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    options = (FIXTURES / "clang-const-data-ptr.so", "--torch", "2.13.0")
    assert run(*options, "--write-baseline", baseline).returncode == 0
    done = run(*options, "--baseline", baseline, "--require-torch", ">=2.4,<2.9")
    text = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert "fails the check require-torch; accepted: the file does not load on torch 2.13.0" in text
    assert "cause:" not in text
    assert "cause:" in run(*options, "--baseline", baseline, "--require-torch", ">=2.4,<2.9", "-v").stdout


def test_matrix_of_the_fixtures_names_ranges() -> None:
    done = run("--matrix", FIXTURES / "gcc-const-data-ptr.so")
    assert "loads on 2.3.0-2.11.0" in " ".join(done.stdout.split())


def test_several_processes_give_the_same_report() -> None:
    targets = sorted((FIXTURES / "loader").iterdir())[:40]
    one, two = (run(*targets, "-f", "json", "-j", processes) for processes in ("1", "2"))
    assert one.stdout == two.stdout
    assert len(json.loads(one.stdout)["artifacts"]) >= 40


def _wheel(path: Path, *fixtures: str, requires: str = "torch==2.13.0") -> Path:
    return make_wheel(path, {f"pkg/{name}": name for name in fixtures}, requires=requires)


def test_a_module_for_another_python_than_the_named_one(plain_python: Path, tmp_path: Path) -> None:
    """CPython 3.6 exports _PyGen_Send, CPython 3.10 and later do not (nm -D of both)."""
    module = tmp_path / "m.cpython-36m-x86_64-linux-gnu.so"
    shutil.copy(FIXTURES / "python-abi-mismatch.so", module)
    done = run("--python", plain_python, module)
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"fix: Install the build of the package for CPython {here}: this one is for 3.6." in done.stdout
    assert "Restrict the wheel" not in done.stdout


def test_two_files_of_a_wheel_with_one_fix_have_it_once(tmp_path: Path) -> None:
    same = "gcc-const-data-ptr.so"
    wheel = make_wheel(tmp_path, {"pkg/a.so": same, "pkg/b.so": same, "pkg/c.so": "thc-api.so"}, requires="torch")
    shown = run("--torch", "2.13.0", wheel).stdout.split("\n\n")
    causes, fixes = ([block.count(f"  {word}: ") for block in shown] for word in ("cause", "fix"))
    assert causes == [1, 1, 1]
    assert fixes == [1 + 1, 0, 1 + 1]  # of the cause and of a rule
    every = run("-v", "--torch", "2.13.0", wheel).stdout
    assert every.count("\n  fix: ") == 3


@pytest.mark.torch
def test_a_wheel_rolls_up_and_declares_less_than_it_needs(tmp_path: Path) -> None:
    """By the ranges of the release index's own tests, gcc-const-data-ptr.so loads on 2.3.0-2.11.0; stable-abi.so
    calls torch_call_dispatcher, of 2.10.0 on."""
    wheel = _wheel(tmp_path, "gcc-const-data-ptr.so", "stable-abi.so", requires="torch>=2.3")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("pkg/weights", bytes(8 << 20))  # large enough for several batches
    one, two = document(wheel), document(wheel, "-j", "2")
    schema = json.loads((Path(abiscan.__file__).parent / "data/report.schema.json").read_text())
    jsonschema.validate(one, schema)
    assert one == two
    (container,) = one["containers"]  # type: ignore[misc]
    assert container["name"] == "pkg"  # type: ignore[index]
    assert container["verdict"] == "fails"  # type: ignore[index]
    assert container["requires_torch"] == ["torch>=2.3"]  # type: ignore[index]
    said = " ".join(run(wheel).stdout.split())
    assert "1 of 2 files does not load" in said
    fixes = [f["fix"] for a in one["artifacts"] for f in a["findings"] if f["rule"] == "torch-requirement-too-wide"]  # type: ignore[attr-defined]
    assert fixes == ["Declare `torch>=2.10,<2.12`"]
    # The torch depends on whether the wheel could be installed where the tests run.
    (torch,) = {a["target"]["torch"]["value"] for a in one["artifacts"] if a["verdict"] == "fails"}  # type: ignore[attr-defined]
    assert f"a release of pkg that is built for torch {'.'.join(torch.split('.')[:2])}" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--require-torch", ">=9"), "'>=9' allows no torch release that can be checked; they are 1.13.0-"),
        (("--require-torch", ">=2.6,<2.5"), "'>=2.6,<2.5' allows no torch release"),
        (("--require-stable-abi=9.9",), "torch 9.9 is not a release that can be checked; they are 1.13.0-"),
    ],
)
def test_a_demand_that_no_known_release_can_meet_is_refused(words: tuple[str, ...], said: str) -> None:
    done = run(*words, FIXTURES / "stable-abi.so")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_two_formats_cannot_have_one_file(tmp_path: Path) -> None:
    report = tmp_path / "o.json"
    done = run(FIXTURES / "stable-abi.so", "-f", f"json:{report}", "-f", f"sarif:{tmp_path}/./o.json")
    assert done.returncode == 2
    assert "one file for two formats, json and sarif" in done.stderr
    assert not report.exists()
    both = run(FIXTURES / "stable-abi.so", "-f", f"json:{report}", "-f", f"sarif:{tmp_path}/o.sarif")
    assert both.returncode == 0


@pytest.mark.parametrize("name", ["nosuch.log", "logs/nosuch", "./nosuch"])
def test_a_missing_log_is_reported(name: str) -> None:
    done = run("explain", name)
    assert done.returncode == 2
    assert f"{name}: no such file" in done.stderr


def test_a_text_without_an_error_leads_to_the_build_of_its_package() -> None:
    """The wheel of spconv for CUDA 12.1 is a package of its own (README of spconv)."""
    done = run("explain", "spconv 2.3.6 behaves oddly, torch 2.1.0+cu121")
    assert done.returncode == 3
    assert done.stdout == ""
    assert "To install spconv for torch 2.1.0+cu121:\n    pip install -U spconv-cu121" in done.stderr
    assert "To install" not in run("explain", "numpy behaves oddly").stderr
    # A failure and no word of an installation: the installed files show the cause.
    checked = run("explain", "a compatibility problem of flash-attn").stderr
    assert 'abiscan flash-attn --python "$(which python)"' in checked
    assert "To install" not in checked
    # No wheel for CUDA where the text names ROCm.
    done = run("explain", "torch-scatter 2.1.2 compiles on ROCm 6.2 (MI300X) but segment_csr on half is wrong, why?")
    assert "+cu" not in done.stderr
    assert "# needs hipcc" in done.stderr


def test_a_question_about_rocm_has_no_wheel_for_cuda() -> None:
    # https://github.com/facebookresearch/xformers/issues/1311 has the build for ROCm 6.4; flash-attn has none.
    asked = run("explain", "xformers rocm wheel for torch 2.8").stderr
    assert "xformers==0.0.32.post2 --index-url https://download.pytorch.org/whl/rocm6.4" in asked
    assert "No wheel" not in asked
    asked = run("explain", "flash-attn for ROCm 6.2 and torch 2.5?").stderr
    assert "No wheel of flash-attn for torch 2.5.0 (rocm6.2)" in asked
    assert "https://" not in asked


def test_the_release_of_a_required_stable_abi_may_be_left_out() -> None:
    """In any position: the next word may be a target (README: `--require-stable-abi [VERSION]`)."""
    stable, other = FIXTURES / "stable-abi.so", FIXTURES / "good-extension.so"
    for words in (("--require-stable-abi", stable, other), (stable, other, "--require-stable-abi")):
        found = document(*words)
        rules = {a["path"].rpartition("/")[2]: [f["rule"] for f in a["findings"]] for a in found["artifacts"]}  # type: ignore[attr-defined]
        assert set(rules) == {"stable-abi.so", "good-extension.so"}
        assert "require-stable-abi" in rules["good-extension.so"]
        assert "require-stable-abi" not in rules["stable-abi.so"]


def test_a_stable_abi_version_is_checked_before_the_scan(tmp_path: Path) -> None:
    done = run("--require-stable-abi", "next", FIXTURES / "stable-abi.so")
    assert done.returncode == 2
    assert "'next' is not a torch release" in done.stderr
    assert done.stdout == ""


@pytest.mark.torch
def test_what_a_cpu_build_lacks_fails_the_file(tmp_path: Path) -> None:
    assert run("--torch", torch_here.cpu_build(tmp_path), FIXTURES / "cuda-build-required.so").returncode == 1


@pytest.mark.torch
def test_a_required_range_changes_no_target() -> None:
    """A baseline that was written with it applies without it."""
    kinds = [
        document(*options, FIXTURES / "good-extension.so")["torch_build"]["kind"]  # type: ignore[index]
        for options in ((), ("--require-torch", ">=2.12,<2.14"))
    ]
    assert kinds == ["installed", "installed"]


@pytest.mark.torch
def test_a_library_that_it_needs_and_that_cannot_bind_to_torch_fails_the_file(run_with_torch: Run) -> None:
    """The file itself imports nothing of torch; its sibling does, without success. Oracle: the real loader."""
    path = FIXTURES / "needs-broken-sibling.so"
    opened = run_with_torch("import ctypes, sys; ctypes.CDLL(sys.argv[1])", str(path))
    assert opened.returncode == 1
    said = opened.stderr.strip().splitlines()[-1].removeprefix("OSError: ")
    (artifact,) = document(path)["artifacts"]  # type: ignore[misc]
    assert artifact["loader"]["error"] == said  # type: ignore[index]
    assert artifact["verdict"] == "fails"  # type: ignore[index]
    done = run(path)
    assert done.returncode == 1
    assert "it needs clang-const-data-ptr.so, which does not load" in " ".join(done.stdout.split())


@table_rows
def test_an_explanation_is_a_cause_a_near_miss_or_not_known(args: list[str], status: int, out: str, err: str) -> None:
    done = run(*args)
    assert done.returncode == status, done.stderr
    assert out in done.stdout
    assert err in done.stderr
    assert done.stdout if out else not done.stdout


def test_an_id_as_json_is_valid() -> None:
    """A cause, a rule and a similar id are documents of one form, valid in the printed schema."""
    schema = json.loads(run("schema").stdout)
    shape = {"$ref": "#/$defs/explain", "$defs": schema["$defs"]}
    cause, rule, near = (
        json.loads(run("explain", word, "-f", "json").stdout)
        for word in ("half-intrinsic", "const-data-ptr", "Const-Data-Pt")
    )
    for done in (cause, rule, near):
        jsonschema.validate(done, shape)
        assert done["subjects"] == []
    assert cause["cause"]["id"] == "half-intrinsic"
    assert rule["rules"] == json.loads(run("rules", "const-data-ptr", "-f", "json").stdout)
    assert near["near"] == ["const-data-ptr"]


def test_a_binary_is_not_text(tmp_path: Path) -> None:
    """Neither as a file nor on standard input; UTF-16, which PowerShell writes, is text."""
    library = FIXTURES / "old-string-extension.so"
    image = tmp_path / "a.bin"
    image.write_bytes(b"MZ\x90\x00" + bytes(64) + b"GLIBC_2.34")
    command = [sys.executable, "-m", "abiscan", "explain", "-"]
    for data in (library.read_bytes(), image.read_bytes()):
        done = subprocess.run(command, input=data, capture_output=True, check=False)
        assert done.returncode == 2
        assert not done.stdout
        assert b"abiscan FILE" in done.stderr
        assert done.stderr.count(b"\n") == 1
    assert run("explain", str(image)).returncode == 2
    text = "ImportError: libc10.so: cannot open shared object file: No such file or directory\r\n"
    done = subprocess.run(command, input=text.encode("utf-16"), capture_output=True, check=False)
    assert b"import-torch-first" in done.stdout


def test_imports_that_resolve_are_left_out_where_a_user_wants_it() -> None:
    """Counts are for all imports; the list has those that the full report lists as unresolved."""
    file = FIXTURES / "old-string-extension.so"
    whole, short = document(file), document(file, "--imports", "unresolved")
    (all_of,), (few,) = (report["artifacts"] for report in (whole, short))  # type: ignore[misc]
    assert short["imports_shown"] == "unresolved"
    assert few["imports"] == [each for each in all_of["imports"] if each["status"] != "resolved"]
    assert 0 < len(few["imports"]) < len(all_of["imports"])
    assert short["summary"] == whole["summary"]
    assert run(file, "--imports", "none").returncode == 2


def test_paths_without_options_are_scanned_as_with_the_command(tmp_path: Path) -> None:
    """Paths alone are parsed by the options parser; oracle: click's defaults for `scan`."""
    files = [FIXTURES / "good-extension.so", FIXTURES / "old-string-extension.so"]
    alone, parsed = run(*files), run("scan", *files)
    assert (alone.returncode, alone.stdout, alone.stderr) == (parsed.returncode, parsed.stdout, parsed.stderr)
    missing = tmp_path / "missing.so"
    assert run(missing).stderr == run("scan", missing).stderr


def test_a_file_with_the_name_of_a_command_or_an_option_is_none_without_a_directory(tmp_path: Path) -> None:
    for name in ("rules", "--help"):
        (tmp_path / name).write_bytes(b"no shared object")
    listed, helped = (run_abiscan(name, cwd=tmp_path) for name in ("rules", "--help"))
    assert "const-data-ptr" in listed.stdout
    assert "Usage:" in helped.stdout


def test_timings_name_each_pass_that_ran() -> None:
    """Hidden option for developers. Passes without a condition run for every file."""
    from abiscan.analysis.passes import PASSES

    done = run(FIXTURES / "good-extension.so", FIXTURES / "stable-abi.so", "--timings")
    timed = [line.split()[-1] for line in done.stderr.splitlines() if " ms  " in line]
    assert {each.name for each in PASSES if not each.skipped} <= set(timed)
    assert timed == [each.name for each in PASSES if each.name in timed]
    assert "--timings" not in run("scan", "--help").stdout


def test_a_command_of_a_fix_is_printed_once(tmp_path: Path) -> None:
    """A file in a folder of one torch: the torch for its CUDA is also the only one of the range that it loads on."""
    members = {"pkg/torch-2.11/lib/libpkg.so": "causes/newer-libcublas.so"}
    wheel = make_wheel(tmp_path, members, tag="py3-none-manylinux_2_28_x86_64", requires="torch>=2.6,<2.15")
    fix = json.loads(run(wheel, "-f", "json").stdout)["artifacts"][0]["causes"][0]["fix"]
    commands = [line.removeprefix("or: ") for line in fix.splitlines() if "torch==2.11.0" in line]
    assert len(commands) == 1, fix


@pytest.mark.skipif(sys.platform != "linux", reason="limits and /dev/full of Linux")
@pytest.mark.parametrize(
    ("shell", "status", "told"),
    [
        ("ulimit -n 8; {0} {1} -j 4", 3, "abiscan: error: ulimit -n: too many open files\n"),
        ("mkdir gone; cd gone; rmdir ../gone; {0} {1}", 3, "error: the working directory: no such file or directory\n"),
        ("{0} {1} > /dev/full", 3, "error: the report could not be written: no space left on device\n"),
        ("{0} {1} -q 2> /dev/full", 0, ""),
    ],
)
def test_the_reason_is_of_the_system_call_that_failed(tmp_path: Path, shell: str, status: int, told: str) -> None:
    for name in ("one", "two", "three", "four"):
        make_wheel(tmp_path, {f"{name}/m.so": (FIXTURES / "good-extension.so").read_bytes()}, name=name)
    command = shell.format(f"{sys.executable} -m abiscan", tmp_path)
    done = run_program(["sh", "-c", command], cwd=tmp_path)
    assert (done.returncode, done.stderr.endswith(told)) == (status, True), done.stderr


def test_a_missing_temporary_directory_is_not_the_working_directory() -> None:
    """tempfile.gettempdir raises FileNotFoundError with words of its own."""
    error = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")
    assert subject_of(error) == "temporary files"
    # Errors of a network or of gzip have words of their own, too.
    assert subject_of(OSError(1, "[SSL: CERTIFICATE_VERIFY_FAILED]")) == "the report could not be written"
