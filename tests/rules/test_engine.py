"""The engine with literal imports."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from abiscan.mangling import parse
from abiscan.model.facts import FileFormat, Import, SharedObject, SymbolBinding, SymbolType, VersionNeed, Visibility
from abiscan.model.finding import Severity
from abiscan.model.imports import CheckedImport, DemangledBy, Owner, Status
from abiscan.model.loading import NeededLibrary
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.model.versions import ReleaseRanges
from abiscan.releases import open_index
from abiscan.rules import RuleSubject, load_rules, rule, run, symbols_to_locate
from abiscan.rules.element_types import type_code
from abiscan.rules.rule import ImportPattern, LibraryPattern, SourcePattern
from abiscan.rules.select import Imports
from abiscan.rules.texts import ranges_text, rewrite_symbols
from abiscan.source import SourceRules, match_source
from tests.tables import table_rows
from tools.read_rule_file import FILE_FIELDS, LIBRARY_FIELDS, SOURCE_FIELDS, SYMBOL_FIELDS


def bound(
    name: str,
    index: int = 1,
    status: Status = Status.MISSING,
    owner: Owner = Owner.TORCH,
    version: VersionNeed | None = None,
) -> CheckedImport:
    symbol = Import(name, SymbolBinding.GLOBAL, SymbolType.FUNC, Visibility.DEFAULT, version, True, index)
    by = DemangledBy.LLVM if "Tn" in name else DemangledBy.GNU
    return CheckedImport(symbol, None, by, owner, status, None)


CPU_TORCH = TorchBuild(TorchKind.RELEASE, "2.13.0", "cpu", None, None, True, None, None)


def subject(
    *imports: CheckedImport,
    needed: tuple[NeededLibrary, ...] = (),
    exported_in: ReleaseRanges | None = None,
    path: str = "_C.so",
) -> RuleSubject:
    facts = SharedObject(path, 1, "x86_64", 64, None, (), None, None, None, (), (), (), ())
    return RuleSubject(
        facts, imports, needed, "_C.so", parse, exported_in=lambda _name: exported_in, span=("1.13.0", "2.15.0")
    )


def found(identifier: str, about: RuleSubject) -> list[str]:
    return [finding.message for finding in run([rule(identifier)], about)]


@table_rows
def test_scope_and_base_decide(name: str, fires: bool) -> None:
    assert bool(found("const-data-ptr", subject(bound(name)))) is fires


def test_search_leaves_no_name_out() -> None:
    """Oracle: each pattern tried on each import."""
    names = [
        "_ZN3c104cuda9SetDeviceEab",
        "9SetDevice",
        "_ZN3c104cuda9SetDeviceEa",
        "THCudaCheck",
        "xTHCudaCheck",
        "",
        "_ZN3c104cuda9SetDevice9SetDeviceEa",
    ]
    imports = Imports(tuple(bound(name, index) for index, name in enumerate(names)))
    for pattern, expected in (
        (ImportPattern(base=("SetDevice",)), [n for n in names if "9SetDevice" in n]),
        (ImportPattern(name_starts=("THCuda",)), ["THCudaCheck"]),
        (ImportPattern(name=("THCudaCheck",)), ["THCudaCheck"]),
        (ImportPattern(name=("",)), [""]),
    ):
        assert [each.symbol.name for each in imports.candidates(pattern)] == expected


def test_clang_spelling_has_its_own_advice() -> None:
    name = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"
    (finding,) = run([rule("const-data-ptr")], subject(bound(name), exported_in=ReleaseRanges()))
    assert "-fclang-abi-compat=17" not in finding.fix  # no release of these ranges exports that name either
    assert "`data_ptr<int64_t>()`" in finding.fix
    assert "no torch release from 1.13.0 to 2.15.0" in finding.message


def test_long_long_is_rewritten_as_the_int64_t_of_linux() -> None:
    """torch 2.13.0 exports data_ptr<long> and no data_ptr<long long> (nm -D libtorch_cpu.so)."""
    about = subject(bound("_ZNK2at10TensorBase14const_data_ptrIxEEPKT_v", status=Status.MISSING))
    (finding,) = run([rule("const-data-ptr")], about)
    assert "const_data_ptr<long long>()" in finding.message
    assert "`data_ptr<int64_t>()`" in finding.fix
    assert "long long" not in finding.fix


def test_rewrites_on_windows_have_the_names_of_its_mangling() -> None:
    """torch_cpu.dll 2.8.0 exports both names (llvm-readobj --coff-exports)."""
    about = subject(bound("??$const_data_ptr@_J@TensorBase@at@@QEBAPEB_JXZ"))
    known = {
        "??$data_ptr@_J@TensorBase@at@@QEBAPEA_JXZ": ReleaseRanges([("1.13.0", "2.15.0")]),
        "??$mutable_data_ptr@_J@TensorBase@at@@QEBAPEA_JXZ": ReleaseRanges([("2.1.0", "2.15.0")]),
    }
    about = replace(about, facts=replace(about.facts, format=FileFormat.PE), exported_in=known.get)
    (finding,) = run([rule("const-data-ptr")], about)
    assert "const_data_ptr<int64_t>()" in finding.message
    assert "`data_ptr<int64_t>()` (exported by every torch release from 1.13.0 to 2.15.0)" in finding.fix
    assert "`mutable_data_ptr<int64_t>()` (exported by torch 2.1.0-2.15.0)" in finding.fix


def test_every_rewrite_has_the_same_function_in_both_manglings() -> None:
    checked = 0
    for each in load_rules():
        for rewrite in each.rewrites:
            assert len(rewrite.symbols) == len(rewrite.windows_symbols)
            for element in ("float", "int", "long long", "c10::Half"):
                fields = {"type": element}
                both = [
                    rewrite_symbols(rewrite, fields, type_code(element, file_format), file_format)
                    for file_format in (FileFormat.ELF, FileFormat.PE)
                ]
                names = [[parse(symbol) for symbol in symbols or ()] for symbols in both]
                assert [name and name.canonical for name in names[0]] == [name and name.canonical for name in names[1]]
                checked += 1
    assert checked > 8


@pytest.mark.parametrize(("torch", "option"), [("2.6.0", True), ("2.12.0", False), ("2.2.0", False)])
def test_fix_names_what_the_target_exports(torch: str, option: bool) -> None:
    """With -fclang-abi-compat=17 the import is the name in torch 2.3 to 2.11; 2.1 added mutable_data_ptr."""
    compat = "_ZNK2at10TensorBase14const_data_ptrIlLi0EEEPKT_v"
    known = {compat: ReleaseRanges([("2.3.0", "2.11.0")]), "mutable": ReleaseRanges([("2.3.0", "2.15.0")])}
    about = replace(
        subject(bound(compat.replace("Li0E", "TnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0E"))),
        target=TorchBuild(TorchKind.RELEASE, torch, "cpu", None, None, True, None, None),
        exported_in=lambda name: known.get(
            "mutable" if "mutable" in name else name, ReleaseRanges([("1.13.0", "2.15.0")])
        ),
    )
    (finding,) = run([rule("const-data-ptr")], about)
    assert ("-fclang-abi-compat=17" in finding.fix) is option
    assert ("mutable_data_ptr" in finding.fix) is (torch != "2.2.0")


@pytest.mark.parametrize(
    ("status", "severity"),
    [(Status.RESOLVED, "warning"), (Status.MISSING, "error"), (Status.UNREACHABLE, "error"), (Status.WEAK, "warning")],
)
def test_severity_follows_the_status(status: Status, severity: str) -> None:
    (finding,) = run(
        [rule("const-data-ptr")], subject(bound("_ZNK2at10TensorBase14const_data_ptrIfEEPKT_v", status=status))
    )
    assert finding.severity == severity


def test_unknown_releases_are_not_reported_as_none() -> None:
    (message,) = found(
        "const-data-ptr", subject(bound("_ZNK2at10TensorBase14const_data_ptrIfEEPKT_v"), exported_in=None)
    )
    assert "unknown torch releases" in message


def test_an_unknown_export_state_matches_nothing() -> None:
    about = bound("_ZN5torch5utils14cuda_lazy_initEv")
    libraries = lambda _name: ("libtorch_python.so",)  # noqa: E731
    assert not found("libtorch-python-internals", replace(subject(about, exported_in=None), libraries=libraries))
    closed = replace(subject(about, exported_in=ReleaseRanges([("1.13.0", "2.2.2")])), libraries=libraries)
    assert found("libtorch-python-internals", closed)


def test_gnu_rejection_needs_the_gnu_demangler() -> None:
    name = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"
    assert found("undemangled-name", subject(bound(name)))
    assert not found("undemangled-name", replace(subject(bound(name)), gnu_available=False))


def test_missing_library_takes_the_imports_that_name_it() -> None:
    needed = (
        NeededLibrary("libavcodec.so.60", None),
        NeededLibrary("libc10_cuda.so", None),
        NeededLibrary("libc.so.6", "/lib/x"),
    )
    version = VersionNeed("libavcodec.so.60", "LIBAVCODEC_60", False)
    imports = (
        bound("av_x", 1, Status.UNDECIDED, Owner.OTHER, version),
        bound("_ZN3c104cuda9SetDeviceEa", 2, Status.UNDECIDED),
        bound("av_y", 3, Status.UNDECIDED, Owner.OTHER),
    )
    about = replace(subject(*imports, needed=needed), libraries=lambda _name: ("libc10_cuda.so",))
    assert not any("libc10_cuda" in text for text in found("missing-library", about)), "no torch, so nobody lacks it"
    about = replace(about, target=CPU_TORCH)
    findings = {finding.symbols: finding.severity for finding in run([rule("missing-library")], about)}
    assert findings == {("av_x",): "note", ("_ZN3c104cuda9SetDeviceEa",): "error"}


def test_a_missing_library_that_no_torch_ships_is_none_of_torchs_whatever_its_name_begins_with() -> None:
    """The release index lists the libraries of each build."""
    shipped = {library for build in open_index().builds() for library in build.libraries}
    projects = ("torchaudio", "torchcodec_core8", "torchtext", "torchvision", "torch_npu", "torio_ffmpeg6", "c10_npu")
    others = {f"lib{project}.so" for project in projects}
    of_torch = {"libtorch_cuda.so", "libtorch_nvshmem.so", "libc10.so", "libtorch_python.so", "libshm.so"}
    assert of_torch <= shipped
    assert not others & shipped
    needed = tuple(NeededLibrary(soname, None) for soname in sorted(others | of_torch))
    about = replace(subject(needed=needed), target=CPU_TORCH)
    findings = run([rule("missing-library")], about)
    assert {f.message.partition(" ")[0] for f in findings if f.severity == "error"} == of_torch
    assert not any("torch that ships" in f.fix for f in findings if f.severity == "note")


def test_pybind_alone_is_noted_and_a_registered_operator_is_not() -> None:
    wrap = bound("_Z16THPVariable_WrapRKN2at10TensorBaseE", 1, Status.RESOLVED)
    module = bound("PyModule_Create2", 2, Status.RESOLVED, Owner.PYTHON)
    library = bound("_ZN5torch7LibraryC1ENS0_4KindESsSt8optionalIN3c1011DispatchKeyEEPKcj", 3, Status.RESOLVED)
    assert found("op-not-registered", subject(wrap, module))
    assert not found("op-not-registered", subject(wrap))
    # Imports of a module because of torch/extension.h of torch 2.5 to 2.13 (nm -D on wheels of torchao and torchrl).
    load = bound("_ZN8pybind116detail11type_casterIN2at6TensorEvE4loadENS_6handleEb", 4, Status.RESOLVED)
    device = bound("_ZN8pybind116detail11type_casterIN3c106DeviceEvE4loadENS_6handleEb", 5, Status.RESOLVED)
    assert found("op-not-registered", subject(load, module))
    assert not found("op-not-registered", subject(device, module))
    assert not found("op-not-registered", subject(wrap, module, library))


def test_stable_abi_names_pass_in_an_abi3_module() -> None:
    limited = bound("PyList_New", 1, Status.RESOLVED, Owner.PYTHON)
    other = bound("_PyObject_GetMethod", 2, Status.RESOLVED, Owner.PYTHON)
    assert not found("outside-limited-api", subject(limited, path="_C.abi3.so"))
    assert found("outside-limited-api", subject(limited, other, path="_C.abi3.so"))
    assert not found("outside-limited-api", subject(limited, other, path="_C.cpython-311-x86_64-linux-gnu.so"))


@pytest.mark.parametrize(
    ("written", "code"),
    # From g++ 12 and clang++ 19 for `template <class T> void f()`.
    [("long", "l"), ("c10::Half", "N3c104HalfE"), ("Half", "4Half"), ("float*", None), ("std::complex<float>", None)],
)
def test_type_code(written: str, code: str | None) -> None:
    assert type_code(written) == code


@pytest.mark.parametrize(
    ("ranges", "text"),
    [
        (None, "unknown torch releases"),
        (ReleaseRanges(), "no torch release from 1.13.0 to 2.15.0"),
        (ReleaseRanges([("1.13.0", "2.15.0")]), "every torch release from 1.13.0 to 2.15.0"),
        (ReleaseRanges([("2.10.0", "2.10.0"), ("2.12.0", "2.15.0")]), "torch 2.10.0 and 2.12.0-2.15.0"),
    ],
)
def test_ranges_text(ranges: ReleaseRanges | None, text: str) -> None:
    assert ranges_text(ranges, ("1.13.0", "2.15.0")) == text


def test_notes_are_not_located() -> None:
    name = "_ZN3c104cuda9SetDeviceEab"
    rules = [rule("cuda-set-device")]
    note = run(rules, subject(bound(name, status=Status.RESOLVED)))
    error = run(rules, subject(bound(name, status=Status.MISSING)))
    assert symbols_to_locate(rules, note) == frozenset()
    assert symbols_to_locate(rules, error) == {name}


def _blas_handle(torch: str, status: Status) -> Severity:
    """The severity of a hit of a rule with severity error for a missing import, for a name in 2.0.0 to 2.5.1."""
    about = subject(
        bound("_ZN2at4cuda24getCurrentCUDABlasHandleEv", status=status), exported_in=ReleaseRanges([("2.0.0", "2.5.1")])
    )
    target = TorchBuild(TorchKind.INSTALLED, torch, "cpu", None, None, True, None, None)
    return run([rule("current-cuda-blas-handle")], replace(about, target=target))[0].severity


def test_a_build_without_the_library_is_not_the_changed_api() -> None:
    """torch 2.4.1 exports the name; its CPU build has no such library: the API did not change."""
    base = rule("current-cuda-blas-handle").severity
    assert base is not Severity.ERROR
    assert _blas_handle("2.4.1", Status.MISSING) is base
    assert _blas_handle("2.5.1", Status.UNREACHABLE) is base
    assert _blas_handle("2.0", Status.MISSING) is base  # PEP 440: 2.0 is 2.0.0
    assert _blas_handle("2.6.0", Status.MISSING) is Severity.ERROR
    assert _blas_handle("1.13.1", Status.MISSING) is Severity.ERROR
    assert _blas_handle("2.10.0", Status.MISSING) is Severity.ERROR  # numbers, not text
    assert _blas_handle("2.4.0a0", Status.MISSING) is Severity.ERROR  # no release: its exports may differ


@pytest.mark.parametrize("name", ["_ZN2at1f`reboot`Ev", "_ZN2at1f$(reboot)Ev", "torch_x\nreboot", "torch_x';reboot'"])
def test_no_hostile_name_is_in_a_command(name: str) -> None:
    (finding,) = run([rule("missing-import")], subject(bound(name), exported_in=ReleaseRanges([("2.0.0", "2.1.0")])))
    assert finding.symbol == name
    assert "reboot" not in finding.fix
    (plain,) = run(
        [rule("missing-import")], subject(bound("_ZN2at1fEv"), exported_in=ReleaseRanges([("2.0.0", "2.1.0")]))
    )
    assert "abiscan explain _ZN2at1fEv" in plain.fix


@pytest.mark.parametrize(
    ("library", "needed", "message", "fix"),
    [
        # Windows and macOS: the file needs both.
        (
            "@rpath/libtorch_cpu.dylib",
            ("@rpath/libc10.dylib", "@rpath/libtorch_cpu.dylib"),
            "exported by libc10.dylib, but the file imports it from libtorch_cpu.dylib",
            "Rebuild the extension against torch 2.13.0+cpu",
        ),
        (
            None,
            ("libc10.dylib",),
            "exported by another copy of libc10.dylib than the one that is loaded",
            "Remove the copy of libc10.dylib that the loader finds first",
        ),
        (
            None,
            (),
            "exported by libc10.dylib, which is not a needed library of the file",
            "Link the extension with libc10.dylib",
        ),
    ],
)
def test_why_an_exported_import_is_not_resolved(
    library: str | None, needed: tuple[str, ...], message: str, fix: str
) -> None:
    there = bound("c10_f", status=Status.UNREACHABLE)
    there = replace(there, symbol=replace(there.symbol, library=library), provider="libc10.dylib")
    about = subject(there)
    about = replace(about, facts=replace(about.facts, needed=needed), target=CPU_TORCH)
    (finding,) = run([rule("unreachable-import")], about)
    assert finding.message == f"undefined symbol `c10_f`: {message}"
    assert finding.fix == fix


def _naming(fields: frozenset[str]) -> dict[str, str]:
    """Templates with every field."""
    return dict.fromkeys(("message", "fix"), " ".join(f"{{{field}}}" for field in sorted(fields)))


def test_every_field_that_a_template_may_name_is_filled() -> None:
    importing = subject(bound("_ZNK2at10TensorBase14const_data_ptrIfEEPKT_v"))
    library = replace(subject(needed=(NeededLibrary("libc10_cuda.so", None),)), target=CPU_TORCH)
    pattern = ImportPattern(base=("const_data_ptr",))
    symbols = replace(rule("const-data-ptr"), imports=(pattern,), **_naming(SYMBOL_FIELDS))
    assert run([symbols], importing)
    assert run([replace(symbols, per="file", **_naming(FILE_FIELDS))], importing)
    assert run([replace(rule("missing-library"), libraries=(LibraryPattern(),), **_naming(LIBRARY_FIELDS))], library)
    sources = replace(symbols, sources=(SourcePattern(member=("f",)),), rewrites=(), **_naming(SOURCE_FIELDS))
    assert match_source("x.f();", "a.cpp", SourceRules([sources]))


def test_severities_stand_in_order_of_rank() -> None:
    assert sorted(Severity, key=lambda each: each.rank) == ["error", "warning", "note"]
