"""Texts of Windows and macOS in the forms of public threads. Expected: what resolved the thread, or what
`llvm-readobj --coff-exports` and `llvm-objdump --exports-trie` have of torch's libraries."""

from __future__ import annotations

import pytest

from abiscan.analysis.explanation import explain
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.cause import CauseId
from abiscan.model.subject import Subject, SubjectKind

_ENTRY = "The procedure entry point {} could not be located in the dynamic link library C:\\e\\torchvision\\_C.pyd."
# Exported by c10.dll of every release since 1.7.1.
_ALWAYS = "?tls_local_dispatch_key_set@impl@c10@@YA?AULocalDispatchKeySet@12@XZ"


def only(text: str, torch: str | None = "2.7.1") -> Subject:
    (subject,) = explain(text, ScanOptions(torch, None, LoaderSettings("/")))
    return subject


def words_of(subject: Subject) -> str:
    return "\n".join(line for cause in subject.causes for line in (*cause.evidence, cause.fix or ""))


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        pytest.param(
            "error: process didn't exit successfully: `app.exe` (exit code: 0xc0000139, STATUS_ENTRYPOINT_NOT_FOUND)",
            "built-for-newer-torch",
            id="LaurentMazare/tch-rs#915",
        ),
        pytest.param("Process finished with exit code -1073741515 (0xC0000135)", "library-missing", id="no DLL"),
        pytest.param(
            '  File "P:\\lib\\site-packages\\torch\\__init__.py", line 81, in <module>\n    ctypes.CDLL(dll)\n'
            '  File "P:\\lib\\ctypes\\__init__.py", line 356, in __init__\n'
            "    self._handle = _dlopen(self._name, mode)\n"
            "OSError: [WinError 127] The specified procedure could not be found",
            "distribution-variant",
            id="pytorch/pytorch#37733",
        ),
        pytest.param(
            '  File "C:\\e\\site-packages\\torch\\__init__.py", line 367, in <module>\n    from torch._C import *\n'
            "ImportError: DLL load failed while importing _C: The specified procedure could not be found.",
            "distribution-variant",
            id="conda-forge/pytorch-cpu-feedstock#354",
        ),
        pytest.param(_ENTRY.format(_ALWAYS), "distribution-variant", id="another copy of c10.dll"),
        pytest.param(
            "ImportError: dlopen(/e/torch/_C.cpython-37m-darwin.so, 2): Symbol not found: ___addtf3\n"
            "  Referenced from: /usr/local/lib/libquadmath.0.dylib\n  Expected in: /usr/lib/libSystem.B.dylib\n"
            " in /usr/local/lib/libquadmath.0.dylib",
            "library-version-mismatch",
            id="TomHeaven/pytorch-osx-build#19",
        ),
        pytest.param(
            "ImportError: dlopen(/e/torch/_C.cpython-39-darwin.so, 2): Library not loaded: @loader_path/libomp.dylib\n"
            "  Referenced from: /e/torch/lib/libtorch_cpu.dylib\n  Reason: no suitable image found.  Did find:\n"
            "\t/e/torch/.dylibs/libomp.dylib: cannot load 'libomp.dylib' (load command 0x80000034 is unknown)",
            "unusable-file",
            id="pytorch/pytorch#78938",
        ),
        pytest.param(
            '1b4c:2a58 @ 00123456 - LdrpReportError - ERROR: Locating export "?toScalarType@TypeMeta@caffe2@@QEBA?AW4'
            'ScalarType@c10@@XZ" for DLL "C:\\e\\_C.pyd" failed with status: 0xc0000139.',
            "built-for-newer-torch",
            id="trace of the loader (gflags +sls)",
        ),
    ],
)
def test_the_first_cause(text: str, cause: str) -> None:
    assert only(text).causes[0].cause.value == cause


def test_windows_finds_the_dll_of_each_import() -> None:
    """So a missing symbol that torch exports is no matter of linking or of the order of imports."""
    subject = only(_ENTRY.format(_ALWAYS))
    assert [cause.cause.value for cause in subject.causes][:1] == ["distribution-variant"]
    assert "cannot open shared object file" not in words_of(subject)
    assert "import torch  # before" not in words_of(subject)


@pytest.mark.parametrize(
    ("name", "ships"),
    [("c10.dll", "torch 1.7.1-2.15.0 ships it."), ("torch_cpu.dll", "torch 1.7.1-2.15.0 ships it.")],
)
def test_dlls_of_torch_are_known(name: str, ships: str) -> None:
    text = f"The code execution cannot proceed because {name} was not found. Reinstalling the program may fix this."
    words = words_of(only(text))
    assert ships in words
    assert "No known torch build" not in words


def test_dlls_of_cuda_builds_are_not_in_the_index() -> None:
    words = words_of(
        only("The code execution cannot proceed because c10_cuda.dll was not found. Reinstalling the program may help.")
    )
    assert "No known torch build" not in words


def test_a_step_of_a_trace_is_no_failure() -> None:
    """From pytorch/pytorch#104128; the loader finds the DLL in the next step."""
    text = "7914:75f0 @ 1888762578 - LdrpFindKnownDll - RETURN: Status: 0xc0000135\n"
    assert explain(text, ScanOptions(None, None, LoaderSettings("/"))) == ()


def test_files_from_a_browser_are_in_quarantine() -> None:
    text = (
        "dlopen(/e/_C.so, 9): Library not loaded: @rpath/libmkl_core.dylib\n  Referenced from: /e/libshm.dylib\n"
        "  Reason: no suitable image found.  Did find:\n\t/e/libmkl_core.dylib: code signature in "
        "(/e/libmkl_core.dylib) not valid for use in process using Library Validation: Library load disallowed by "
        "System Policy"
    )
    assert "xattr -d com.apple.quarantine /e/libmkl_core.dylib" in words_of(only(text))


def test_dyld_reports_a_library_in_its_own_words() -> None:
    words = words_of(only("Symbol not found: __ZN3c106SymInt19promote_to_negativeEv", "2.2.2"))
    assert "`Library not loaded`" in words
    assert "cannot open shared object file" not in words


_LATER = "?toScalarType@TypeMeta@caffe2@@QEBA?AW4ScalarType@c10@@XZ"


@pytest.mark.parametrize(
    "text",
    [f"pkg\\x.pyd / Missing import: c10.dll!{_LATER}\n", f"pkg\\x.pyd\n  Missing import: c10.dll!{_LATER}\n"],
    ids=["one line", "two lines"],
)
def test_a_missing_import_is_a_symbol_of_the_file_before_it(text: str) -> None:
    subject = only(text)
    assert (subject.kind, subject.mangled, subject.needed_by) == (SubjectKind.SYMBOL, _LATER, "pkg\\x.pyd")
    assert subject.causes[0].cause is CauseId.BUILT_FOR_NEWER_TORCH
    assert "c10.dll" in words_of(subject)


@pytest.mark.parametrize(
    "text",
    [
        # Program.cs of Dependencies: PeDependencyItem.PrettyPrint (-chain), ModuleEntries.PrettyPrint (-modules).
        "├ x.pyd (ROOT) : C:\\e\\x.pyd \n|  ├ a.dll (Environment) : C:\\a.dll \n|  ├ c10.dll (NOT_FOUND) :  \n",
        "[ROOT] x.pyd : C:\\e\\x.pyd \n[System32Folder] KERNEL32.dll : C:\\KERNEL32.dll \n[NOT_FOUND] c10.dll :  \n",
        "[NOT_FOUND] c10.dll :  \n[NOT_FOUND] ext-ms-win-ntuser-windowclass-l1-1-0.dll :  \n",
    ],
    ids=["-chain", "-modules", "extension API set"],
)
def test_dependencies_lists_what_is_not_found(text: str) -> None:
    subject = only(text)
    assert (subject.kind, subject.text) == (SubjectKind.LIBRARY, "c10.dll")


def test_a_listing_of_imports_reports_nothing_missing() -> None:
    """PEImports.PrettyPrint of Dependencies (-imports)."""
    text = (
        "[-] Import listing for file : C:\\e\\x.pyd\nImport from module c10.dll :\n"
        f"\t Function {_LATER}\n\t Function {_ALWAYS} (Delay Import)\n\t Ordinal_3 \n[-] Import listing done\n"
    )
    assert only(text).causes == ()


def step(path: str, result: str) -> str:
    """A line of Process Monitor, as it saves CSV."""
    return f'"14:01:02","python.exe","14520","CreateFile","{path}","{result}","Desired Access: Read Attributes"\n'


@pytest.mark.parametrize("steps_between", [0, 300])
def test_a_library_found_in_a_later_folder_is_not_missing(steps_between: int) -> None:
    others = "".join(step(f"C:\\e\\{number}.txt", "SUCCESS") for number in range(steps_between))
    text = (
        step("C:\\e\\cudnn64_8.dll", "NAME NOT FOUND")
        + step("C:\\e\\zlibwapi.dll", "PATH NOT FOUND")
        + others
        + step("C:\\torch\\lib\\CUDNN64_8.dll", "SUCCESS")
    )
    assert only(text).text == "zlibwapi.dll"


def test_a_library_that_was_there_before_is_missing() -> None:
    text = step("C:\\old\\cudnn64_8.dll", "SUCCESS") + step("C:\\e\\cudnn64_8.dll", "NAME NOT FOUND")
    assert only(text).text == "cudnn64_8.dll"


@pytest.mark.parametrize(
    "said",
    [
        "Library not loaded: @rpath/libcudart.10.2.dylib",
        "Library not loaded: @rpath/libc10_cuda.dylib",
        "Symbol not found: _cudaMalloc",
        "Symbol not found: __ZN3c104cuda9SetDeviceEa",
    ],
)
def test_macos_has_no_cuda(said: str) -> None:
    """NVIDIA's release notes: CUDA 10.2 is the last for macOS."""
    subject = only(f"ImportError: dlopen(/e/x.cpython-311-darwin.so, 2): {said}\n", "2.2.2")
    assert [cause.cause for cause in subject.causes] == [CauseId.CUDA_BUILD_REQUIRED]
    assert "there is no CUDA on macOS" in words_of(subject)
    assert "LD_LIBRARY_PATH" not in words_of(subject)
    assert "cu121" not in subject.title


def test_a_library_of_cpu_torch_for_macos_is_not_of_cuda() -> None:
    subject = only("ImportError: dlopen(/e/x.cpython-311-darwin.so, 2): Library not loaded: @rpath/libc10.dylib\n")
    assert subject.causes[0].cause is CauseId.IMPORT_TORCH_FIRST


@pytest.mark.parametrize(
    ("text", "way"),
    [
        (
            "dyld: Library not loaded: @rpath/libc10.dylib\n"
            "  Referenced from: /Applications/X.app/Contents/PlugIns/foo.dylib\n  Reason: image not found\n",
            "install_name_tool -add_rpath",
        ),
        ("app.exe - System Error\nThe code execution cannot proceed because c10.dll was not found.\n", "PATH"),
    ],
    ids=["plugin for macOS", "program for Windows"],
)
def test_a_program_without_python_imports_nothing(text: str, way: str) -> None:
    subject = only(text)
    assert subject.causes[0].cause is CauseId.LIBRARY_MISSING
    assert way in (subject.causes[0].fix or "")
    assert "import torch" not in words_of(subject)


@pytest.mark.parametrize(
    "file", ["/e/lib/site-packages/x/.dylibs/foo.dylib", "/e/lib/python3.11/site-packages/x/_C.cpython-311-darwin.so"]
)
def test_a_library_of_a_python_package_is_told_to_import_torch(file: str) -> None:
    subject = only(f"ImportError: dlopen: Library not loaded: @rpath/libc10.dylib\n  Referenced from: {file}\n")
    assert subject.causes[0].cause is CauseId.IMPORT_TORCH_FIRST


@pytest.mark.parametrize(("code", "cause"), [(126, "library-missing"), (127, "distribution-variant")])
def test_a_line_before_the_error_names_the_dll(code: int, cause: str) -> None:
    text = f'Error loading "C:\\e\\torch\\lib\\fbgemm.dll" or one of its dependencies.\nOSError: [WinError {code}] Text'
    subject = only(text)
    assert (subject.text, subject.causes[0].cause.value) == ("fbgemm.dll", cause)


def test_the_dll_of_the_error_itself_comes_first() -> None:
    text = (
        'Error loading "C:\\e\\a.dll"\nOSError: [WinError 126] Text. Error loading "C:\\e\\b.dll" or its dependencies.'
    )
    assert only(text).text == "b.dll"


@pytest.mark.parametrize(
    "text",
    [
        _ENTRY.replace("torchvision\\_C.pyd", "torch\\lib\\torch_python.dll").format("PySlice_AdjustIndices"),
        "ImportError: /e/torch/lib/libtorch_python.so: undefined symbol: PySlice_AdjustIndices",
    ],
)
def test_a_function_of_a_patch_release_of_python(text: str) -> None:
    """Python's documentation, C API, Slice Objects: added in version 3.6.1."""
    cause = only(text, "1.7.1").causes[0]
    assert cause.cause is CauseId.PYTHON_ABI_MISMATCH
    assert "does not export it" in cause.evidence[0]
    assert "CPython 3.6.0" in cause.evidence[0]
    assert "python>=3.6.1" in (cause.fix or "")


def test_a_file_for_a_later_python_does_not_lack_it() -> None:
    cause = only("ImportError: /e/x.cpython-311-x86_64-linux-gnu.so: undefined symbol: PySlice_AdjustIndices").causes[0]
    assert "3.6.1" not in (cause.fix or "")


# clang++ 19 -std=c++17 --target=arm64-apple-macos13, with enable_if in the inline namespace std::__1.
_OF_CLANG = "__ZNK2at10TensorBase14const_data_ptrI{}TnNSt3__19enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS4_v"


@pytest.mark.parametrize(
    ("symbol", "accessor"),
    [
        (_OF_CLANG.format("x"), "data_ptr<int64_t>()"),
        (_OF_CLANG.format("f"), "data_ptr<float>()"),
        (_OF_CLANG.format("l"), "data_ptr<int64_t>()"),
        (_OF_CLANG.format("x").partition("IXnt")[0] + "...", "data_ptr<int64_t>()"),
    ],
)
@pytest.mark.parametrize("torch", [None, "2.8.0"])
def test_clang_18_on_macos(symbol: str, accessor: str, torch: str | None) -> None:
    """Oracles: the exports of libtorch_cpu.dylib (2.3.0 to 2.11.0: IxLi0E; since 2.12.0: IxE; data_ptr: IxE),
    and the names of clang++ 19 with and without -fclang-abi-compat=17."""
    said = "" if torch is None else f", torch {torch}"
    (subject,) = explain(
        f"symbol not found in flat namespace '{symbol}'{said}", ScanOptions(None, None, LoaderSettings("/"))
    )
    cause = subject.causes[0]
    assert cause.cause is CauseId.TEMPLATE_MANGLING
    fix = cause.fix or ""
    assert f"se {accessor}, exported by torch" in fix
    assert "-fclang-abi-compat=17" in fix
    assert ("torch 2.12.0 or later" in fix) is (torch is None and not symbol.endswith("..."))
    assert ("Replace long with int64_t" in fix) is ("IlTn" in symbol)
    words = words_of(subject)
    assert not any(word in words for word in ("GCC", "gcc", "nvcc", "NVCC", "cu1"))


def test_the_linker_of_macos_prints_a_readable_name() -> None:
    """Oracle: the exports of libtorch_cpu.dylib: IxLi0E in 2.3.0 to 2.11.0. The name is that of either mangling."""
    text = (
        'Undefined symbols for architecture arm64:\n  "long long const* at::TensorBase::const_data_ptr<long long, 0>() '
        'const", referenced from:\n      foo(at::Tensor) in a.o\nld: symbol(s) not found for architecture arm64'
    )
    (subject,) = explain(text, ScanOptions(None, None, LoaderSettings("/")))
    assert subject.causes[0].cause is CauseId.TEMPLATE_MANGLING
    assert (subject.causes[0].fix or "").startswith("Use data_ptr<int64_t>(), exported by torch")
    words = words_of(subject)
    assert not any(word in words for word in ("No known torch build", "GCC", "nvcc", "nm -D", ".so"))
