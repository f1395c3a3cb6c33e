"""Literal reports: every state of a format, and names with hostile markup."""

from __future__ import annotations

from msgspec.structs import replace

from abiscan.model.cause import Cause, CauseGroup, CauseId, Confidence
from abiscan.model.facts import Import, SymbolBinding, SymbolType, VersionNeed, Visibility
from abiscan.model.finding import Finding, Location, RuleInfo, Severity, WhatIf
from abiscan.model.fingerprint import fingerprint
from abiscan.model.imports import CheckedImport, DemangledBy, Owner, Status
from abiscan.model.loading import LoaderOutcome, LoaderPrediction, LoaderStop, NeededLibrary, StopKind
from abiscan.model.provenance import Provenance
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.report import (
    ArtifactKind,
    ArtifactReport,
    ArtifactVerdict,
    Container,
    InputError,
    Report,
    StaleEntry,
    Verdict,
)
from abiscan.model.subject import Subject, SubjectKind
from abiscan.model.target import TargetEnvironment, TorchBuild, TorchKind
from abiscan.model.versions import ReleaseRanges

# Hostile symbol names: markup, ends of CDATA and of a script, terminal escapes, a line break before a workflow command,
# table and code-span delimiters, a bidirectional override, a byte that is not UTF-8, a control like NUL.
HOSTILE = (
    "<script>alert(1)</script>",
    "]]><x/>",
    "</script><img src=x onerror=alert(2)>",
    "<!--<script>",
    "\x1b[31mred\x1b[0m\x07",
    "line\n::error file=a::injected\r\n",
    "a|b`c``d\\|e",
    "\u202egnp.so\u2066",
    "raw\udcff\udc80byte",
    "\x01\x0b\ufffe",
    "{{ 7 * 7 }}{% raw %}",
    "'\"><svg onload=alert(3)>",
    "\u2028\u2029",
)

TENSOR_PTR = "_ZNK2at10TensorBase8data_ptrIfEEPT_v"
CHECK_FAIL_OLD = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
CONST_PTR = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"
SET_DEVICE = "_ZN3c104cuda9SetDeviceEab"

RULES = (
    RuleInfo(
        "missing-import",
        "An import that no library in scope exports",
        "The loader stops at the first such import, and `import` of the extension raises.",
        "undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs",
        "Rebuild against the torch that it is to run with.",
        ("https://pytorch.org/docs/stable/cpp_extension.html",),
        "1.13.0",
        Severity.ERROR,
        Confidence.HIGH,
    ),
    RuleInfo(
        "const-data-ptr",
        "`const_data_ptr<T>()` binds to a name whose mangling changed twice",
        "Its exported name differs between releases and between compilers, so a binary that calls it loads on few.",
        "const float* p = t.const_data_ptr<float>();",
        "const float* p = t.data_ptr<float>();",
        ("https://github.com/pytorch/pytorch/issues/174898",),
        "2.1.0",
        Severity.WARNING,
        Confidence.HIGH,
    ),
    RuleInfo(
        "unstable-abi",
        "Uses `at::`, `c10::` or `torch::` names, which promise nothing between minor releases",
        "Only the C shims are kept.",
        "at::Tensor f(at::Tensor t);",
        "torch::stable::Tensor",
        (),
        "2.9.0",
        Severity.NOTE,
        Confidence.HIGH,
    ),
)

TARGET = TorchBuild(
    TorchKind.INSTALLED, "2.13.0", "cpu", None, None, True, "lib/python3.11/site-packages/torch", None, "x86_64"
)


def an_import(
    name: str,
    status: Status = Status.RESOLVED,
    *,
    demangled: str | None = None,
    owner: Owner = Owner.TORCH,
    provider: str | None = "libtorch_cpu.so",
    version: str | None = None,
    index: int = 1,
) -> CheckedImport:
    """An import as made by the loader stage."""
    need = VersionNeed("libc.so.6", version, False) if version else None
    binding = SymbolBinding.WEAK if status is Status.WEAK else SymbolBinding.GLOBAL
    symbol = Import(name, binding, SymbolType.FUNC, Visibility.DEFAULT, need, True, index)
    return CheckedImport(
        symbol,
        demangled,
        DemangledBy.GNU if demangled else DemangledBy.NONE,
        owner,
        status,
        provider if status is Status.RESOLVED else None,
    )


def a_finding(
    rule: str = "missing-import",
    symbol: str | None = CHECK_FAIL_OLD,
    *,
    path: str = "_C.so",
    severity: Severity = Severity.ERROR,
    message: str | None = None,
    locations: tuple[Location, ...] = (),
    detail: str = "",
) -> Finding:
    """A finding as made by a rule."""
    return Finding(
        rule,
        severity,
        Confidence.HIGH,
        symbol,
        message if message is not None else f"nothing exports {symbol}",
        "Rebuild with torch 2.13.0",
        fingerprint(rule, path, symbol or "", detail),
        (),
        locations,
    )


def an_artifact(
    path: str = "build/_C.cpython-311-x86_64-linux-gnu.so",
    member: str | None = None,
    *,
    verdict: ArtifactVerdict = ArtifactVerdict.LOADS,
    findings: tuple[Finding, ...] = (),
    **fields: object,
) -> ArtifactReport:
    """An artifact with default values."""
    base = ArtifactReport(path, member, ArtifactKind.SHARED_OBJECT, 51234, "x86_64", verdict, findings=findings)
    made = replace(base, **fields)  # type: ignore[arg-type]
    ranges = ReleaseRanges([("2.1.0", "2.2.2"), ("2.12.0", "2.15.0")])
    return replace(made, exported_in={each.name: ranges for each in made.imports if each.owner is Owner.TORCH})


def a_report(*artifacts: ArtifactReport, errors: tuple[InputError, ...] = ()) -> Report:
    """A run as passed from `scan` to the gate."""
    return Report("0.1.0", TARGET, artifacts, errors, RULES)


def a_release(
    torch: str,
    fits: bool,
    reason: str = "",
    *,
    variant: str = "cpu",
    new_strings: bool = True,
    missing: tuple[str, ...] = (),
    drift: tuple[str, ...] = (),
) -> ReleaseVerdict:
    """The outcome on one build; `reason` and `missing` count only if the file does not load on it."""
    state = ReleaseState.LOADS if fits else ReleaseState.FAILS
    failure = ((), drift, "") if fits else (missing, drift, reason)
    return ReleaseVerdict(f"{torch}+{variant}-x86_64", torch, variant, new_strings, state, *failure)


def releases(
    *, loads: tuple[str, ...] = ("2.12.0", "2.13.0"), why: str = "old string ABI"
) -> tuple[ReleaseVerdict, ...]:
    """Six builds; those in `loads` load the file."""
    return tuple(
        a_release(
            version,
            version in loads,
            why,
            new_strings=version >= "2.7",
            missing=(CHECK_FAIL_OLD, TENSOR_PTR),
            drift=("_ZTVN3c1010TensorImplE",) if version == "2.13.0" else (),
        )
        for version in ("2.4.0", "2.4.1", "2.6.0", "2.8.0", "2.12.0", "2.13.0")
    )


CXX11 = Cause(
    CauseId.CXX11_ABI_MISMATCH,
    Confidence.HIGH,
    (
        "libc10.so exports the same function with the other std::string",
        "the file has 41 names with the old std::string and none with the new",
    ),
    'CXXFLAGS="-D_GLIBCXX_USE_CXX11_ABI=1" pip install --no-build-isolation .',
)


def strings_group(*symbols: str) -> CauseGroup:
    """The cause `CXX11` for these symbols of a file."""
    summary = "built with the old std::string; this torch has the new one"
    return CauseGroup(CXX11.cause, CXX11.confidence, summary, CXX11.evidence, CXX11.fix, symbols)


def failing() -> ArtifactReport:
    """A file that does not load, with causes, releases and a source location."""
    return an_artifact(
        "dist/example-1.0-cp311-cp311-linux_x86_64.whl",
        "example/_C.cpython-311-x86_64-linux-gnu.so",
        verdict=ArtifactVerdict.FAILS,
        build_id="aabbccdd",
        sha256="0" * 64,
        loader=LoaderPrediction(
            LoaderOutcome.FAILS,
            LoaderStop(StopKind.UNDEFINED_SYMBOL, "example/_C.cpython-311-x86_64-linux-gnu.so", symbol=CHECK_FAIL_OLD),
        ),
        needed=(NeededLibrary("libtorch_cpu.so", "torch/lib/libtorch_cpu.so"), NeededLibrary("libavcodec.so.58", None)),
        imports=(
            an_import(TENSOR_PTR, demangled="float* at::TensorBase::data_ptr<float>() const"),
            an_import(
                CHECK_FAIL_OLD,
                Status.MISSING,
                demangled="c10::detail::torchCheckFail(char const*, char const*, unsigned int, std::string const&)",
            ),
            an_import("PyModule_Create2", owner=Owner.PYTHON, provider="python3.11"),
            an_import("memcpy", owner=Owner.LIBC, provider="libc.so.6", version="GLIBC_2.14"),
            an_import("avcodec_open2", Status.UNDECIDED, owner=Owner.OTHER),
            an_import("__gmon_start__", Status.WEAK, owner=Owner.LIBC),
        ),
        import_causes={CHECK_FAIL_OLD: (CXX11,)},
        releases=releases(),
        what_if=(WhatIf("const-data-ptr", (CONST_PTR,), ReleaseRanges([("2.4.0", "2.13.0")]), "nothing else changes"),),
        provenance=Provenance(
            ("GCC: (GNU) 13.2.1",), False, ReleaseRanges([("2.1.0", "2.6.0")]), "2.6.0", "vtable sizes", "cp311"
        ),
        findings=(
            a_finding(path="_C.so"),
            a_finding(
                "const-data-ptr",
                CONST_PTR,
                path="_C.so",
                severity=Severity.WARNING,
                message="const_data_ptr<long>() is exported by no build under this name",
                locations=(
                    Location("void f(at::Tensor)", None, None, 0x11C0),
                    Location("void g(at::Tensor)", "csrc/kernel one.cpp", 42, None),
                ),
            ),
        ),
        causes=(
            strings_group(CHECK_FAIL_OLD),
            CauseGroup(
                CauseId.LIBRARY_MISSING,
                Confidence.MEDIUM,
                "libavcodec.so.58 is not on this machine",
                ("searched the run path and the loader's cache",),
                "apt-get install libavcodec58",
                ("avcodec_open2",),
            ),
        ),
        notes=("libavcodec.so.58 is not here: 1 import is undecided",),
    )


def mixed() -> Report:
    """Every artifact verdict, errors, stale entries, notes."""
    loading = an_artifact(
        "dist/example-1.0-cp311-cp311-linux_x86_64.whl",
        "example/ops.abi3.so",
        loader=LoaderPrediction(LoaderOutcome.LOADS),
        imports=(an_import(TENSOR_PTR, demangled="float* at::TensorBase::data_ptr<float>() const"),),
        releases=releases(loads=("2.4.0", "2.4.1", "2.6.0", "2.8.0", "2.12.0", "2.13.0")),
        findings=(
            a_finding("unstable-abi", TENSOR_PTR, path="ops.abi3.so", severity=Severity.NOTE, message="unstable"),
            replace(
                a_finding("const-data-ptr", CONST_PTR, path="ops.abi3.so", severity=Severity.WARNING),
                suppressed=True,
                suppression="ignored: goes with 2.0 (abiscan.toml, ignore 1)",
            ),
        ),
    )
    return replace(
        a_report(
            loading,
            failing(),
            an_artifact("lib/undecided.so", verdict=ArtifactVerdict.UNDECIDED, notes=("libfoo.so was not found",)),
            an_artifact("lib/broken.so", verdict=ArtifactVerdict.UNREADABLE, machine=None, size=3),
            an_artifact("lib/plain.so", verdict=ArtifactVerdict.NOT_TORCH),
            an_artifact(
                "csrc/kernel one.cpp",
                verdict=ArtifactVerdict.LOADS,
                kind=ArtifactKind.SOURCE,
                machine=None,
                findings=(
                    a_finding(
                        "const-data-ptr",
                        None,
                        path="csrc/kernel one.cpp",
                        severity=Severity.WARNING,
                        message="const_data_ptr<float>() is called",
                        locations=(Location("g", "csrc/kernel one.cpp", 42, None),),
                    ),
                ),
            ),
            errors=(InputError("dist/other.whl", "not a zip archive: it ends after 3 bytes"),),
        ),
        verdict=Verdict.FAIL,
        stale=(StaleEntry("baseline.json", "missing-import of _Zgone in example/_C.so", True),),
        notes=("two torches are on the path; the first is used",),
    )


def hostile() -> Report:
    """Every text of a report is one of the hostile names."""
    artifacts = []
    for number, name in enumerate(HOSTILE):
        artifacts.append(
            an_artifact(
                f"dist/{name}.whl",
                f"pkg/{name}.so",
                verdict=ArtifactVerdict.FAILS,
                loader=LoaderPrediction(LoaderOutcome.FAILS, LoaderStop(StopKind.UNDEFINED_SYMBOL, name, symbol=name)),
                needed=(NeededLibrary(name, None),),
                imports=(an_import(name, Status.MISSING, demangled=name),),
                import_causes={name: (replace(CXX11, fix=name),)},
                releases=tuple(replace(r, reason=name, drift=(name,), missing=(name,)) for r in releases()),
                provenance=Provenance((name,), None, None, name, name, name),
                findings=(
                    a_finding(
                        symbol=name,
                        message=f"nothing exports {name}",
                        locations=(Location(name, f"src/{name}.cpp", number + 1, None), Location(name, None, None, 64)),
                    ),
                ),
                causes=(
                    CauseGroup(CauseId.CXX11_ABI_MISMATCH, Confidence.LOW, name, (name,), f"export A={name}", (name,)),
                ),
                notes=(name,),
            )
        )
    report = a_report(*artifacts, errors=tuple(InputError(name, name) for name in HOSTILE))
    return replace(
        report,
        verdict=Verdict.FAIL,
        notes=HOSTILE,
        stale=tuple(StaleEntry("baseline.json", name, True) for name in HOSTILE),
        torch_build=replace(TARGET, path=HOSTILE[0], note=HOSTILE[1]),
    )


def empty() -> Report:
    """A pure-Python wheel: nothing to check."""
    return replace(Report("0.1.0", None, (), (), ()), verdict=Verdict.PASS, notes=("no shared object in x.whl",))


def large(files: int = 40, imports: int = 12_000, builds: int = 30) -> Report:
    """A very large wheel, with imports in all states."""
    artifacts = []
    per_file = imports // files
    for f in range(files):
        bound = tuple(
            an_import(
                f"_ZN2at6native{len(str(i)) + 4}op{f:02}{i}ERKNS_6TensorE",
                Status.MISSING if f % 3 == 0 and i % 20 == 0 else Status.RESOLVED,
                demangled=f"at::native::op{f:02}{i}(at::Tensor const&)",
                index=i + 1,
            )
            for i in range(per_file)
        )
        gone = tuple(b.name for b in bound if b.status is Status.MISSING)
        verdicts = tuple(
            a_release(
                f"2.{b // 2}.{b % 2}",
                not gone and b > f % 25,
                "old string ABI" if gone else "too new",
                new_strings=b > 12,
                missing=gone,
            )
            for b in range(builds)
        )
        artifacts.append(
            an_artifact(
                "dist/large-1.0-cp311-cp311-linux_x86_64.whl",
                f"large/ops_{f:02}.cpython-311-x86_64-linux-gnu.so",
                verdict=ArtifactVerdict.FAILS if gone else ArtifactVerdict.LOADS,
                imports=bound,
                import_causes=dict.fromkeys(gone, (CXX11,)),
                releases=verdicts,
                findings=tuple(a_finding(symbol=name, path=f"ops_{f:02}.so") for name in gone),
                causes=(strings_group(*gone),) if gone else (),
            )
        )
    return replace(a_report(*artifacts), verdict=Verdict.FAIL)


SUBJECTS = (
    Subject(
        CHECK_FAIL_OLD,
        SubjectKind.SYMBOL,
        CHECK_FAIL_OLD,
        "c10::detail::torchCheckFail(char const*, char const*, unsigned int, std::string const&)",
        DemangledBy.GNU,
        Owner.TORCH,
        ReleaseRanges([("1.13.0", "2.6.0")]),
        (CXX11,),
        ("exported with the old std::string to 2.6.0",),
        "example/_C.so",
    ),
    Subject(
        "libcudart.so.12",
        SubjectKind.LIBRARY,
        None,
        None,
        DemangledBy.NONE,
        None,
        None,
        (),
        location=Location(None, "a.cu", 3, None),
    ),
)


# The builds that `wheels` are checked against: three releases of one variant each.
BUILDS = ("2.7.1", "2.8.0", "2.9.0")


def on_builds(*states: ReleaseState) -> tuple[ReleaseVerdict, ...]:
    """The outcome of a file on each of `BUILDS`."""
    return tuple(
        ReleaseVerdict(
            f"{version}+cu128-x86_64",
            version,
            "cu128",
            True,
            state,
            (TENSOR_PTR,) if state is ReleaseState.FAILS else (),
            (),
            "" if state is ReleaseState.LOADS else f"why {state}",
        )
        for version, state in zip(BUILDS, states, strict=True)
    )


def a_wheel(
    name: str, version: str, *members: ArtifactReport, requires: tuple[str, ...] = ()
) -> tuple[Container, tuple[ArtifactReport, ...]]:
    """A wheel, and its members with its path."""
    path = f"dist/{name}-{version}-cp311-cp311-manylinux_2_28_x86_64.whl"
    inside = tuple(replace(member, path=path) for member in members)
    verdicts = [member.verdict for member in inside]
    worst = next(v for v in (*BAD, ArtifactVerdict.LOADS, ArtifactVerdict.NOT_TORCH) if v in verdicts)
    container = Container(
        path,
        "wheel",
        name,
        version,
        ("cp311-cp311-manylinux_2_28_x86_64",),
        (),
        requires,
        tuple(r for r in requires if r.startswith("torch")),
        worst,
        tuple(member.display for member in inside),
        None,
        tuple(r for r in requires if r.startswith("torch")),
    )
    return container, inside


BAD = (ArtifactVerdict.FAILS, ArtifactVerdict.UNREADABLE, ArtifactVerdict.UNDECIDED)
RELEASE = TorchBuild(TorchKind.RELEASE, "2.8.0", "cu128", "12.8", None, True, None, None, "x86_64")
ON_RELEASE = TargetEnvironment(torch_build=RELEASE)


def wheels() -> Report:
    """Three wheels, checked against 2.8.0: one loads there, one does not despite its requirement, one does not use
    torch."""
    good, bad, layout, cuda = (
        ReleaseState.LOADS,
        ReleaseState.FAILS,
        ReleaseState.OTHER_LAYOUT,
        ReleaseState.OTHER_CUDA,
    )
    loads, fails = ArtifactVerdict.LOADS, ArtifactVerdict.FAILS
    first = a_wheel(
        "alpha",
        "1.0",
        an_artifact("", "alpha/_C.so", releases=on_builds(bad, good, layout), target=ON_RELEASE, verdict=loads),
        an_artifact("", "alpha/one.so", releases=on_builds(good, good, good), target=ON_RELEASE, verdict=loads),
        an_artifact("", "alpha/two.so", releases=on_builds(good, good, good), target=ON_RELEASE, verdict=loads),
        requires=("torch>=2.8,<2.9", "numpy"),
    )
    gone = an_import(TENSOR_PTR, Status.MISSING, demangled="float* at::TensorBase::data_ptr<float>() const")
    second = a_wheel(
        "beta",
        "2.0",
        an_artifact(
            "",
            "beta/_C.so",
            releases=on_builds(cuda, bad, good),
            target=ON_RELEASE,
            verdict=fails,
            imports=(gone,),
            findings=(a_finding(symbol=TENSOR_PTR), a_finding("unstable-abi", None, severity=Severity.NOTE)),
            causes=(
                CauseGroup(
                    CauseId.BUILT_FOR_NEWER_TORCH,
                    Confidence.HIGH,
                    "the file was built for a newer torch",
                    ("2.9.0 exports it",),
                    'Install another build\nor: pip install "torch>=2.9"',
                    (TENSOR_PTR,),
                ),
            ),
        ),
        requires=("torch>=2.8",),
    )
    third = a_wheel(
        "gamma", "3.0", an_artifact("", "gamma/_g.so", verdict=ArtifactVerdict.NOT_TORCH, target=ON_RELEASE)
    )
    each = (first, second, third)
    report = a_report(*(member for _, members in each for member in members))
    return replace(
        report, torch_build=RELEASE, verdict=Verdict.FAIL, containers=tuple(container for container, _ in each)
    )


def many_wheels(number: int = 30, files: int = 7, imports: int = 200) -> Report:
    """Wheels of a release: like those of one project, their files share most of their imports."""
    bound = tuple(
        an_import(
            f"_ZN2at6native5op{i:04}ERKNS_6TensorE", demangled=f"at::native::op{i:04}(at::Tensor const&)", index=i
        )
        for i in range(imports)
    )
    each = [
        a_wheel(
            f"project{n:02}",
            "1.0",
            *(
                an_artifact(
                    "",
                    f"project{n:02}/module_{f}.so",
                    releases=tuple(
                        a_release(f"2.{b}.0", b > (n + f) % 25, "too old", variant="cu128", missing=(bound[0].name,))
                        for b in range(30)
                    ),
                    target=ON_RELEASE,
                    imports=bound,
                )
                for f in range(files)
            ),
            requires=("torch>=2.8",),
        )
        for n in range(number)
    ]
    report = a_report(*(member for _, members in each for member in members))
    return replace(
        report, torch_build=RELEASE, verdict=Verdict.PASS, containers=tuple(container for container, _ in each)
    )
