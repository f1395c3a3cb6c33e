"""`explain` end to end: the five reports that motivated the project, and the causes one by one. Release ranges and
counterparts come from the shipped index, which tests/libtorch checks against the wheels."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from abiscan.diagnosis.knowledge import Environment, Knowledge
from abiscan.diagnosis.other_builds import SOURCE_BUILD
from abiscan.model.cause import CauseId, Confidence
from abiscan.model.imports import DemangledBy, Owner
from abiscan.model.python_version import PythonVersion
from abiscan.model.subject import SubjectKind
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.releases import ReleaseIndex
from tests.diagnosis.explained import explain
from tests.tables import table_rows

Released = Callable[[str], Knowledge]
CLANG = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"


class NoExports:
    """A torch that exports none of the names."""

    sonames = frozenset({"libc10.so", "libtorch_cpu.so", "libtorch_python.so"})
    is_indexed = False

    def library_of(self, name: str) -> str | None:
        return None

    def with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        return ()


def _first(text: str, knowledge: Knowledge, needed_by: str | None = None) -> CauseId:
    (subject,) = explain(text, knowledge, needed_by)
    return subject.causes[0].cause


# --- the five reports -----------------------------------------------------------------------------------------------


def test_flashinfer(released: Released) -> None:
    text = f"OSError: /opt/flashinfer/flashinfer_kernels.abi3.so: undefined symbol: {CLANG}"
    (subject,) = explain(text, released("2.6.0"))
    assert subject.exported_in == ()
    assert subject.demangled_by is DemangledBy.LLVM
    assert subject.demangled is not None
    assert "at::TensorBase::const_data_ptr<long" in subject.demangled
    cause = subject.causes[0]
    assert (cause.cause, cause.confidence) == (CauseId.TEMPLATE_MANGLING, Confidence.HIGH)
    # GCC's form of the same declaration, which 2.3-2.11 export.
    assert "_ZNK2at10TensorBase14const_data_ptrIlLi0EEEPKT_v" in " ".join(cause.evidence)
    assert "data_ptr<int64_t>()" in cause.fix
    assert "-fclang-abi-compat=17" in cause.fix
    assert any(line.startswith("2.3.0-2.11.0:") for line in subject.history)


def test_a_mangling_that_no_release_exports_needs_no_release(index: ReleaseIndex) -> None:
    """The releases are those of the symbol of `data_ptr<int64_t>()` in the index."""
    history = index.history("_ZNK2at10TensorBase8data_ptrIlEEPT_v", "x86_64")
    assert history is not None
    (subject,) = explain(f"undefined symbol: {CLANG}", Knowledge(releases=index))
    assert not any("installed torch is unknown" in note for note in subject.notes)
    use, rewrite, build, *others = subject.causes[0].fix.splitlines()
    assert use.startswith(f"Use data_ptr<int64_t>(), exported by torch {history.exported_in.text()}. DIRECTORY: ")
    assert "git" in rewrite
    assert "--force" in rewrite
    assert "CC=gcc" not in build  # the rewrite is enough
    assert "--no-binary" not in build  # the published source lacks the rewrite
    assert any("CC=gcc" in line and "without this change" in line for line in others)
    assert any("for torch 2.12.0 or later, with any compiler" in line for line in others)
    assert any("ask its publisher" in line for line in others)


def test_no_replacement_that_no_release_exports(index: ReleaseIndex) -> None:
    """No release exports `data_ptr<T>()` of `unsigned long long`."""
    name = "_ZNK2at10TensorBase8data_ptrIyEEPT_v"
    assert index.history(name, "x86_64") is None
    (subject,) = explain(f"undefined symbol: {CLANG.replace('ptrIl', 'ptrIy')}", Knowledge(releases=index))
    assert "data_ptr<" not in subject.causes[0].fix


def test_scatter_with_a_torch_built_from_source(index: ReleaseIndex) -> None:
    target = TorchBuild(
        TorchKind.INSTALLED, "2.6.0", "cu124", "12.4", None, False, "/src/torch", None, git_revision="0123456789abcdef"
    )
    knowledge = Knowledge(target=target, exports=NoExports(), exact=True, releases=index)
    text = (
        "OSError: /e/site-packages/torch_scatter/_version_cuda.so: undefined symbol: "
        "_ZN3c105ErrorC1ENS_14SourceLocationESs"
    )
    (subject,) = explain(text, knowledge)
    cause = subject.causes[0]
    assert (cause.cause, cause.confidence) == (CauseId.DISTRIBUTION_VARIANT, Confidence.HIGH)
    assert "0123456789" in " ".join(cause.evidence)
    assert "pip install --no-build-isolation" in cause.fix
    assert "--no-binary torch-scatter torch-scatter" in cause.fix


def test_flash_linear_attention(nothing: Knowledge) -> None:
    # https://github.com/fla-org/flash-linear-attention/issues/160
    text = (
        'Traceback (most recent call last):\n  File "/e/torch/_inductor/codecache.py", line 3005, in load_by_key_path\n'
        '  File "/tmp/torchinductor_u/xu/cxu.py", line 61, in <module>\n'
        "    async_compile.triton('fused_recurrent_delta_rule_fwd_kernel', ... 'constants': {'T': s2}\n"
        "NameError: name 's2' is not defined\n"
    )
    (subject,) = explain(text, nothing)
    assert subject.kind is SubjectKind.PYTHON_NAME
    cause = subject.causes[0]
    assert (cause.cause, cause.confidence) == (CauseId.GENERATED_KERNEL, Confidence.HIGH)
    assert "The kernel is fused_recurrent_delta_rule_fwd_kernel." in cause.evidence
    # Oracle: METADATA and fla/ops/delta_rule/fused_recurrent.py of the wheel: torch>=2.5, @torch.compiler.disable.
    # Releases from 0.2.1 on have more kernels with sizes as tl.constexpr (fla/modules/layernorm.py: NB).
    assert "or, for torch 2.5: pip uninstall -y fla && pip install flash-linear-attention==0.2.0" in cause.fix
    assert cause.fix.index("torch==2.6.0") < cause.fix.index("flash-linear-attention==0.2.0")
    assert "torch.compiler.disable" in cause.fix
    # The cache with the module of the traceback.
    assert "rm -rf /tmp/torchinductor_u\n" in cause.fix


# --- causes, against released builds ----------------------------------------------------------------------------------


def test_a_changed_signature_shows_both_and_marks_the_difference(released: Released) -> None:
    (subject,) = explain("_ZN5torch3jit17parseSchemaOrNameERKSs", released("2.4.0"))
    changed = next(cause for cause in subject.causes if cause.cause is CauseId.SIGNATURE_CHANGED)
    told = " ".join(changed.evidence)
    assert "parseSchemaOrName(std::string const&, bool)" in told
    assert "Differences: parameter 2 added: bool." in told
    assert "2.4.0-2.6.0" in told


def test_a_target_of_the_same_string_abi_speaks_against_a_mismatch(released: Released) -> None:
    knowledge = released("2.6.0")
    assert knowledge.target is not None
    name = "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
    agreeing = replace(knowledge, target=replace(knowledge.target, cxx11_abi=True), exports=None)
    (subject,) = explain(name, agreeing)
    mismatch = next(cause for cause in subject.causes if cause.cause is CauseId.CXX11_ABI_MISMATCH)
    assert mismatch.confidence is Confidence.LOW
    assert any(fact.startswith("Against it:") for fact in mismatch.evidence)


def test_hidden_in_libtorch_python(index: ReleaseIndex, released: Released) -> None:
    old, new = index.resolve("2.6.0"), index.resolve("2.7.0")
    hidden = next(
        name
        for name, history in index.prefix("_ZN5torch5utils", limit=5000).items()
        if (export := history.export(old)) is not None
        and export.libraries == ("libtorch_python.so",)
        and history.export(new) is None
        and history.exported_in[-1][1] == "2.6.0"
        and "basic_string" not in name
        and "Ss" not in name
    )
    (subject,) = explain(hidden, released("2.8.0"))
    assert subject.causes[0].cause is CauseId.SYMBOL_HIDDEN


@pytest.mark.parametrize(
    ("variant", "expected"), [("cpu", CauseId.CUDA_BUILD_REQUIRED), ("rocm6.2", CauseId.ROCM_NAMING)]
)
def test_gpu_names(variant: str, expected: CauseId, index: ReleaseIndex) -> None:
    hip = "6.2" if variant.startswith("rocm") else None
    target = TorchBuild(TorchKind.INSTALLED, "2.6.0", variant, None, hip, None, "/t", None)
    knowledge = Knowledge(target=target, exports=NoExports(), exact=True, releases=index)
    assert _first("_ZN3c104cuda20getCurrentCUDAStreamEa", knowledge) is expected


def test_two_torches_mixed(nothing: Knowledge) -> None:
    # https://github.com/pytorch/pytorch/issues/15800
    text = "ImportError: /e/torch/lib/libtorch_python.so: undefined symbol: _ZTIN3c1010TensorImplE"
    (subject,) = explain(text, replace(nothing, environment=Environment(torches=("/a/torch", "/b/torch"))))
    assert subject.causes[0].cause is CauseId.DISTRIBUTION_VARIANT
    assert "/a/torch, /b/torch" in " ".join(subject.causes[0].evidence)


def test_python_of_this_environment_decides(nothing: Knowledge) -> None:
    old = replace(nothing, environment=Environment(python=PythonVersion(3, 6)))
    (subject,) = explain("PyThread_tss_alloc", old)
    assert (subject.owner, subject.causes[0].cause) == (Owner.PYTHON, CauseId.PYTHON_ABI_MISMATCH)
    assert subject.causes[0].confidence is Confidence.HIGH
    (subject,) = explain("PyThread_tss_alloc", replace(nothing, environment=Environment(python=PythonVersion(3, 11))))
    assert subject.causes[0].confidence is Confidence.LOW


# --- libraries ------------------------------------------------------------------------------------------------------


def test_a_library_that_torch_did_not_have_yet(index: ReleaseIndex) -> None:
    # https://github.com/rusty1s/pytorch_scatter/issues/173
    target = TorchBuild(TorchKind.INSTALLED, "1.4.0", "cu101", "10.1", None, False, "/t", None)
    text = "ImportError: libtorch_cpu.so: cannot open shared object file"
    assert _first(text, Knowledge(target=target, releases=index)) is CauseId.BUILT_FOR_NEWER_TORCH


def test_a_gpu_library_and_a_cpu_torch(index: ReleaseIndex) -> None:
    target = TorchBuild(TorchKind.INSTALLED, "2.13.0", "cpu", None, None, True, "/t", None)
    text = "ImportError: libc10_cuda.so: cannot open shared object file"
    assert _first(text, Knowledge(target=target, releases=index)) is CauseId.CUDA_BUILD_REQUIRED


def test_another_cudart_is_here(nothing: Knowledge) -> None:
    knowledge = replace(nothing, environment=Environment(libraries={"libcudart.so.12": "/c/libcudart.so.12"}))
    (subject,) = explain("ImportError: libcudart.so.11.0: cannot open shared object file", knowledge)
    assert (subject.causes[0].cause, subject.causes[0].confidence) == (CauseId.CUDA_LIBRARY_MISMATCH, Confidence.HIGH)
    assert "libcudart.so.12" in " ".join(subject.causes[0].evidence)


# --- forms of names ---------------------------------------------------------------------------------------------------


def test_a_whole_log_keeps_its_order_and_its_files(nothing: Knowledge) -> None:
    text = (
        "Collecting torch\n  ImportError: libc10.so: cannot open shared object file: No such file or directory\n"
        "OSError: /s/torch_scatter/_C.so: undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKSs\n" * 3
    )
    found = explain(text, nothing)
    assert [(subject.kind, subject.needed_by) for subject in found] == [
        (SubjectKind.LIBRARY, None),
        (SubjectKind.SYMBOL, "/s/torch_scatter/_C.so"),
    ]


def test_without_any_knowledge_names_still_tell() -> None:
    (subject,) = explain(f"undefined symbol: {CLANG}", Knowledge())
    assert subject.causes[0].cause is CauseId.TEMPLATE_MANGLING
    (subject,) = explain("_ZN3c105ErrorC1ENS_14SourceLocationESs", Knowledge())
    assert subject.causes
    assert "--torch VERSION" in " ".join(subject.causes[0].evidence)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_answered_or_not(nothing: Knowledge, text: str) -> None:
    for lead in ("", "_Z", "undefined symbol: ", "undefined symbol: _ZN3c10", "__imp_?"):
        for subject in explain(lead + text, nothing):
            assert subject.text or subject.mangled


# --- load errors without a missing symbol -----------------------------------------------------------------------------


def test_many_names_of_one_link_are_reported_once_each(nothing: Knowledge) -> None:
    text = "".join(f"a.o: undefined reference to `foo_bar_{n % 7}'\n" for n in range(70))
    assert [s.text for s in explain(text, nothing)] == [f"foo_bar_{n}" for n in range(7)]


HOSTILE = ["x'; rm -rf ~ #", "new\n::error title=x::y", "$(id)", "`id`", "a b", "x\x1b[31m"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_reaches_no_command(name: str) -> None:
    from abiscan.diagnosis.libraries.missing_library import causes
    from abiscan.diagnosis.missing_name import MissingName
    from abiscan.diagnosis.reference import Reference, ReferringFile
    from abiscan.diagnosis.symbol_causes import causes_of

    named = MissingName(Reference(name), Knowledge(), ReferringFile(f"/s/{name}.so"))
    of_file = MissingName(Reference("_ZN3c105Error4whatEv"), Knowledge(), ReferringFile(f"{name}/{name}_cpu.so"))
    environment = Environment(libraries={f"lib{name}.so": f"/{name}/lib{name}.so"})
    library = MissingName(Reference(name), Knowledge(environment=environment))
    found = [*causes_of(named), *causes_of(of_file), *causes(f"lib{name}.so", library), *causes("libtorch.so", of_file)]
    assert found
    for candidate in found:
        assert name not in candidate.fix_text
        assert not any(word in candidate.fix_text for word in ("rm -rf ~", "::error", "$(id)", "`id`", "\x1b"))


_CHECK = "undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRK"


@table_rows
def test_a_source_build_is_not_a_release(
    version: str, name: str, cause: CauseId, confidence: Confidence, released: Released
) -> None:
    """Its std::string is unknown: no statement about its exports, and no wheel of a release fits."""
    known = released(version)
    assert known.target is not None
    target = replace(known.target, variant=SOURCE_BUILD, cxx11_abi=None, cuda=None)
    text = f"OSError: /x/torch_scatter/_version_cuda.so: {_CHECK}{name}"
    (subject,) = explain(text, replace(known, target=target, exports=None, exact=False))
    assert (subject.causes[0].cause, subject.causes[0].confidence) == (cause, confidence)
    for each in subject.causes:
        assert f"torch {version} ({SOURCE_BUILD}) exports" not in " ".join(each.evidence)
        assert "data.pyg.org" not in each.fix
    assert "--no-binary torch-scatter torch-scatter" in subject.causes[0].fix
    # torch 2.1 imports pkg_resources.packaging: setuptools 69.5.1 has it, 70.0.0 does not.
    assert 'pip install -U "setuptools<70" wheel ninja && FORCE_CUDA=1 pip install ' in subject.causes[0].fix


def test_a_pre_release_is_not_a_release(released: Released) -> None:
    known = released("2.1.0")
    assert known.target is not None
    target = replace(known.target, version="2.1.0a0", variant="gitunknown", cxx11_abi=None)
    (subject,) = explain(f"a.so: {_CHECK}Ss", replace(known, target=target, exports=None, exact=False))
    assert "The release of version 2.1.0a0" not in " ".join(line for each in subject.causes for line in each.evidence)


@pytest.mark.parametrize(
    "words",
    ["at::TensorBase::const_data_ptr<long>() const", "undefined symbol: at::TensorBase::const_data_ptr<long>() const"],
)
def test_a_readable_name_may_be_that_of_clang(words: str, nothing: Knowledge) -> None:
    (subject,) = explain(words, nothing)
    assert CauseId.TEMPLATE_MANGLING in [cause.cause for cause in subject.causes[:3]]
    assert subject.causes[0].cause is not CauseId.TEMPLATE_MANGLING


def test_newer_headers_need_no_rewrite(released: Released) -> None:
    """Oracle: conv.cpp with const_data_ptr<int64_t>(), built with Clang 19 for torch 2.13.0, imports there."""
    (subject,) = explain(f"undefined symbol: {CLANG}", released("2.13.0"))
    first, build, rewrite, *_ = subject.causes[0].fix.splitlines()
    assert first.startswith("Build it again: torch 2.13.0")
    assert "pip install --no-build-isolation" in build
    assert rewrite.startswith("or: use data_ptr<int64_t>()")
