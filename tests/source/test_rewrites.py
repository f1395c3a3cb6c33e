"""Rewrites of single places, as text; `test_compiled_rewrites.py` compiles the results."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import pytest

from abiscan.errors import UnreadableFile
from abiscan.releases import open_index
from abiscan.rules import load_rules
from abiscan.source import FileSet, SourceRules
from abiscan.source.match import places_in
from abiscan.source.object_types import FUNCTIONS, MEMBERS
from abiscan.source.rewrites import REWRITES, Rewritten, rewrite_source, stubs_for
from abiscan.source.rewrites.built_modules import module_of_cmake, module_of_setup, read_project
from abiscan.source.rewrites.registration_stub import BoundModule
from abiscan.source.rewrites.rewrite_tree import rewrite_tree
from tests.forking_process import Run
from tests.processor_time import is_at_most, seconds_of
from tests.tables import data_text, table_rows

RULES = SourceRules(load_rules())
DECLARED = """at::Tensor x, a, b, c, tensor; at::Tensor f(int); template <class Q> at::Tensor g(int);
"""
HALF = "using half_type = c10::Half; template <typename T> void k(const T* p, const int* index) {\n"


def rewritten(text: str, path: str = "a.cpp") -> str:
    return rewrite_source(text, path, RULES, FileSet()).after


def stub_of(text: str, module: str, path: str = "bind.cpp") -> Rewritten:
    """The file that registers what a source binds."""
    (stub,) = stubs_for(text, path, RULES, FileSet(), BoundModule(module))
    return stub


def check_with_torch(stub: Rewritten, bound: str, program: str, folder: Path, run_with_torch: Run) -> None:
    """Run a program with the file, and with a Python module in place of the extension that it registers."""
    (folder / "bind_operators.py").write_text(stub.after)
    (folder / "my_kernels.py").write_text(bound)
    done = run_with_torch(f"import torch, bind_operators as ops\nx = torch.ones(3)\n{program}", cwd=folder)
    assert done.returncode == 0, done.stderr


@table_rows
def test_rewrites(before: str, after: str) -> None:
    assert rewritten(DECLARED + before) == DECLARED + after


@table_rows
def test_what_is_left(text: str, reason: str | None) -> None:
    made = rewrite_source(text, "a.cpp", RULES, FileSet())
    if reason is not None:
        assert not made.changes
        assert reason in made.unchanged[0].reason


@table_rows
def test_members_of_other_classes_are_not_flagged(text: str) -> None:
    """According to the declarations: ISO C++20, 6.4 [basic.scope]."""
    if "AT_DISPATCH" in text:
        text = text.replace("Tensor t;", "Tensor t; Kind mine;")
    assert places_in(text, "a.cpp", RULES, FileSet()) == []


def test_a_header_declares_the_tensor() -> None:
    files = {"a.cpp": '#include "a.h"\nvoid f(Tensor t) { t.const_data_ptr<int>(); }\n', "a.h": "class Tensor {};\n"}
    assert places_in(files["a.cpp"], "a.cpp", RULES, FileSet(files, files.get)) == []


@pytest.mark.parametrize(
    ("names", "declaration"),
    [(FUNCTIONS, r"inline ([\w:]+(?: ?&)?) {}\("), (MEMBERS, r"^ *((?:const )?(?:at::)?[A-Z]\w+(?: ?&)?) {}\(")],
)
@pytest.mark.torch
def test_functions_that_return_tensors(names: frozenset[str], declaration: str) -> None:
    """Oracle: torch's own headers."""
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    include = Path(str(spec.origin)).parent / "include"
    body = (include / "ATen/core/TensorBody.h").read_text()
    factories = (include / "torch/csrc/autograd/generated/variable_factories.h").read_text()
    for name in sorted(names):
        header = include / f"ATen/ops/{name}.h"
        text = body if names is MEMBERS else factories + (header.read_text() if header.exists() else "")
        if name in ("tensor", "from_blob"):
            text += (include / f"ATen/ops/{name}.h").read_text()
        returned = {each.strip() for each in re.findall(declaration.format(name), text, re.MULTILINE)}
        assert returned, name
        assert {each.removeprefix("const ").replace("at::", "").rstrip(" &") for each in returned} == {"Tensor"}, name


# amd_detail/hip_ldg.h and amd_hip_fp16.h of HIP 5.2 have no overload for these; hipify makes HIP's bfloat16 of CUDA's.
@pytest.mark.parametrize("kind", ["bool", "__hip_bfloat16", "__nv_bfloat16", "c10::complex<float>"])
def test_load_of_a_type_without_overload(kind: str) -> None:
    text = (
        f"__global__ void k(const {kind}* p, const int* index, {kind}* out) {{ out[0] = __ldg(p + __ldg(index)); }}\n"
    )
    assert rewritten(text, "k.cu") == text.replace("__ldg(p + __ldg(index))", "*(p + __ldg(index))")
    own = f"__device__ {kind} __ldg(const {kind}* p) {{ return *p; }}\n"
    assert rewritten(own + text, "k.cu") == own + text


@table_rows
def test_load_of_half(read: str, written: str) -> None:
    """The operand of `*` is what the call had; precedence and comments as the C++ standard has them."""
    assert rewritten(f"{HALF}{read}\n}}\n", "k.cuh") == f"{HALF}{written}\n}}\n"


def test_load_past_l1() -> None:
    """PTX ISA, cache operators: `.cg` caches in L2 alone. amd_hip_fp16.h has `*ptr` for it."""
    text = f"{HALF}T x = __ldcg(p);\n}}\n"
    made = rewrite_source(text, "k.cu", RULES, FileSet())
    assert made.after == text
    assert "USE_ROCM" in made.unchanged[0].reason
    assert rewritten(text, "k.hip") == text.replace("__ldcg(p)", "*p")


_MADE = "// !!! This is a file automatically generated by hipify!!!\n"


@pytest.mark.parametrize(
    ("path", "first_line", "sources", "expected"),
    [
        ("hip/csrc/hip/k_hip.hip", _MADE, ("hip/csrc/cuda/k_cuda.cu",), "fix on its source, hip/csrc/cuda/k_cuda.cu"),
        ("csrc/hip/k_cuda.hip", "", ("csrc/cuda/k_cuda.cu", "cuda/k.cu"), "fix on its source, csrc/cuda/k_cuda.cu"),
        ("k.hip", _MADE, ("k.cu",), "fix on its source, k.cu"),
        ("k.hip", _MADE, (), "fix on the `.cu` file that it is made of"),
        ("k.hip", "", ("other/l.cu", "other/k.cu"), None),
    ],
)
def test_a_hip_file_without_a_cuda_source_is_rewritten(
    path: str, first_line: str, sources: tuple[str, ...], expected: str | None
) -> None:
    """Oracle: get_hip_file_path and HIPIFY_C_BREADCRUMB of torch/utils/hipify/hipify_python.py (2.13); older releases
    keep the name of the file (pytorch_scatter issue 412)."""
    text = f"{first_line}{HALF}T x = __ldg(p);\n}}\n"
    files = {path: text, **dict.fromkeys(sources, "")}
    made = rewrite_source(text, path, RULES, FileSet(files, files.get))
    assert (made.after == text.replace("__ldg(p)", "*p")) is (expected is None)
    assert expected is None or expected in made.unchanged[0].reason


def test_rewriting_twice_changes_nothing() -> None:
    text = HALF + "T x = __ldg(p); auto q = t.const_data_ptr<T>(); AT_ERROR(1);\n}\n"
    once = rewritten("#include <a.h>\n" + text, "k.cu")
    assert rewritten(once, "k.cu") == once


def test_bytes_around_stay() -> None:
    text = "/* \udcff */ AT_ERROR(1);\r\n\fint x;\r\n"
    assert rewritten(text) == text.replace("AT_ERROR(1)", "TORCH_CHECK(false, 1)")


def test_only_what_is_wanted() -> None:
    text = "AT_ERROR(1); auto p = t.const_data_ptr<T>();"
    made = rewrite_source(text, "a.cpp", RULES, FileSet(), {"removed-macros"})
    assert made.after == text.replace("AT_ERROR(1)", "TORCH_CHECK(false, 1)")
    assert made.rules == ("removed-macros",)


def test_rules_with_rewrites_exist() -> None:
    assert set(REWRITES) <= {rule.id for rule in load_rules()}


def test_data_ptr_is_exported_for_every_type_of_const_data_ptr() -> None:
    """Otherwise the rewritten call would not resolve. Oracle: the release index with torch 2.13.0 of the package
    index."""
    index = open_index()
    builds = [each for each in index.builds("x86_64") if each.torch == "2.13.0"]
    prefix, suffix = "_ZNK2at10TensorBase14const_data_ptrI", "EEPKT_v"
    codes = [*"bahstijlmfd", "N3c104HalfE", "N3c108BFloat16E", "N3c107complexIfEE", "N3c1013Float8_e4m3fnE"]
    checked = 0
    for code in codes:
        of_const = index.history(f"{prefix}{code}{suffix}", "x86_64")
        if of_const is None or not of_const.exported_in.contains("2.13.0"):
            continue
        plain = index.history(f"_ZNK2at10TensorBase8data_ptrI{code}EEPT_v", "x86_64")
        assert plain is not None, code
        assert plain.exported_in.contains("2.13.0"), code
        checked += 1
    assert builds
    assert checked >= 10


# --- the registration of pybind11's functions ---------------------------------------------------------------------

MODULE = data_text(__file__, "pybind_module.cpp")


@pytest.mark.torch
def test_registration_is_what_torch_takes(tmp_path: Path, run_with_torch: Run) -> None:
    """Imported by torch itself, with a Python module instead of the extension; a function without result is traced with
    fullgraph=True."""
    stub = stub_of(MODULE, "my_kernels", "csrc/bind.cpp")
    assert stub.path == "csrc/bind_operators.py"
    assert "strange: torch.library has no type for cudaStream_t stream\n" in stub.after.partition("# Not written")[2]
    bound = """
def silu_and_mul(out, input, limit, bias):
    out.copy_(input * limit)
def doubled(x):
    return x * 2
def pair(xs, n):
    return xs[0] * n, xs[1] * n
"""
    program = """
def f(x):
    out = torch.empty_like(x)
    ops.silu_and_mul(out, x, 3.0, None)
    return out + 1
assert torch.compile(f, fullgraph=True, backend='eager')(x).tolist() == [4, 4, 4]
assert ops.doubled(x).tolist() == [2, 2, 2]
assert [y.tolist() for y in ops.pair([x, x + 1], 2)] == [[2, 2, 2], [4, 4, 4]]
"""
    check_with_torch(stub, bound, program, tmp_path, run_with_torch)


@pytest.mark.torch
def test_an_operator_with_another_result_writes_to_no_argument(tmp_path: Path, run_with_torch: Run) -> None:
    """Oracle: torch's AOTAutograd raises "custom operator whose output has alias annotations" otherwise."""
    module = data_text(__file__, "several_results.cpp")
    stub = stub_of(module, "my_kernels")
    assert "split_into: it may write to out" in stub.after.partition("# Not written")[2]
    bound = """
def split(x): return [x * 2]
def total(x): return 3.0
"""
    program = """
ops.split.register_fake(lambda x: [torch.empty_like(x)])
ops.total.register_fake(lambda x: 3.0)
def f(x): return ops.split(x)[0] + ops.total(x)
assert torch.compile(f, fullgraph=True, backend='aot_eager')(torch.ones(2)).tolist() == [5, 5]
"""
    check_with_torch(stub, bound, program, tmp_path, run_with_torch)


@pytest.mark.torch
def test_an_operator_returns_no_argument(tmp_path: Path, run_with_torch: Run) -> None:
    """Oracle: torch.library.opcheck, which refuses a result that is an argument."""
    module = data_text(__file__, "returned_arguments.cpp")
    stub = stub_of(module, "my_kernels")
    assert re.findall(r"^def (copied|either)\(.*-> (.*):", stub.after, re.MULTILINE) == [
        ("copied", "torch.Tensor"),
        ("either", "torch.Tensor"),
    ]
    bound = """
def grow(x, by): return x.add_(by)
def fill(out, value): return out.copy_(value)
def shrink(x): return x.mul_(0.5)
"""
    program = """
torch.library.opcheck(ops.grow, (x.clone(), 2.0))
torch.library.opcheck(ops.fill, (x.clone(), x))
torch.library.opcheck(ops.shrink, (x.clone(),))
def f(x):
    ops.grow(x, 2.0)
    return x + 1
assert torch.compile(f, fullgraph=True, backend='aot_eager')(x.clone()).tolist() == [4, 4, 4]
"""
    check_with_torch(stub, bound, program, tmp_path, run_with_torch)
    assert "use x as its result" in stub.after


@pytest.mark.torch
def test_every_written_type_is_one_of_torch(tmp_path: Path, run_with_torch: Run) -> None:
    """Oracle: torch.library.infer_schema, which refuses the whole file for one other type, accepts those that are
    written; of the others it has none."""
    plain = ("at::Tensor", "int64_t", "double", "bool", "std::string", "at::ScalarType", "at::Device")
    ways = (
        "{}",
        "std::optional<{}>",
        "std::vector<{}>",
        "std::optional<std::vector<{}>>",
        "std::vector<std::optional<{}>>",
    )
    types = [way.format(each) for each in plain for way in (*ways, "std::vector<std::vector<{}>>")]
    results = ["at::Tensor", *(f"std::tuple<at::Tensor, {each}>" for each in types), *types]
    taken = "".join(f"at::Tensor takes_{number}(at::Tensor x, {each} y);\n" for number, each in enumerate(types))
    given = "".join(f"{each} gives_{number}(const at::Tensor& x);\n" for number, each in enumerate(results))
    names = [f"takes_{number}" for number in range(len(types))] + [f"gives_{number}" for number in range(len(results))]
    bound = "".join(f'  m.def("{name}", &{name});\n' for name in names)
    module = f"{taken}{given}PYBIND11_MODULE(my_kernels, m) {{\n{bound}}}\n"
    stub = stub_of(module, "my_kernels")
    written, _, left = stub.after.partition("# Not written")
    assert {*re.findall(r"^def (\w+)\(.*->", written, re.MULTILINE), *re.findall(r"#   (\w+): ", left)} == set(names)
    check_with_torch(stub, "", "", tmp_path, run_with_torch)
    assert all(f"{each} y" in left for each in ("std::vector<std::string>", "std::optional<std::vector<at::Tensor>>"))
    of_list = results.index("std::tuple<at::Tensor, std::vector<int64_t>>")
    assert f"#   gives_{of_list}: torch.library has no type for result" in left


ALIASES = data_text(__file__, "tensor_aliases.cpp")


@pytest.mark.torch
def test_aliases_of_tensors_are_tensors(tmp_path: Path, run_with_torch: Run) -> None:
    """Oracle: torch.library.opcheck of torch itself, for operators of a module with these functions in Python."""
    stub = stub_of(ALIASES, "my_kernels")
    written, _, left = stub.after.partition("# Not written")
    assert re.findall(r"^def (\w+)\(.*->", written, re.MULTILINE) == [
        "scale", "add", "halves", "chunks", "square", "twice", "fill",
    ]  # fmt: skip
    assert "generic: torch.library has no type for T x" in left
    bound = """
def scale(x, s): return x * s
def add(a, b): return a + b
def halves(x): return [x / 2, x / 2]
def chunks(xs): return [xs[0] + 1]
def square(x): return x * x
def twice(x): return x * 2
def fill(out, v): out.fill_(v)
"""
    program = """
for each, result in ((ops.scale, 0), (ops.add, 0), (ops.square, 0), (ops.twice, 0), (ops.halves, 2)):
    def fake(x, *more, number=result):
        return [torch.empty_like(x) for _ in range(number)] if number else torch.empty_like(x)
    each.register_fake(fake)
ops.chunks.register_fake(lambda xs: [torch.empty_like(xs[0])])
given = {ops.scale: (x, 2.0), ops.add: (x, x.clone()), ops.halves: (x,), ops.chunks: ([x, x],),
         ops.square: (x,), ops.twice: (x,), ops.fill: (x.clone(), 2.0)}
for each, values in given.items():
    assert set(torch.library.opcheck(each, values).values()) == {'SUCCESS'}, each
"""
    check_with_torch(stub, bound, program, tmp_path, run_with_torch)


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ("void f(at::Tensor x, cudaStream_t s);", "f: torch.library has no type for cudaStream_t s"),
        (
            "std::pair<at::Tensor, at::Tensor> f(at::Tensor x);",
            "f: torch.library has no type for result std::pair<at::Tensor, at::Tensor>",
        ),
        (
            "void f(at::Tensor x, py::array_t<int, py::array::c_style | py::array::forcecast> y);",
            "f: torch.library has no type for py::array_t<int, py::array::c_style | py::array::forcecast> y",
        ),
        (
            "mine::Box<at::Tensor, 2> f(at::Tensor x);",
            "f: torch.library has no type for result mine::Box<at::Tensor, 2>",
        ),
        (
            "template <class A, class B> struct wrapper { using step = std::vector<A>; };\n"
            "using types = wrapper<int, float>; template <class A> using manager = Map<A, float, Host>;\n"
            "void f(at::Tensor x, types::size s, manager<int>* m);",
            "f: torch.library has no type for types::size s, manager<int>* m",
        ),
        (
            "using two = Pair<int, float>;\nvoid f(at::Tensor x, two t);",
            "f: torch.library has no type for Pair<int, float> t",
        ),
        ("using at::Tensor;", "f: its declaration was not found"),
    ],
)
def test_why_nothing_is_registered(declared: str, reason: str) -> None:
    text = f'#include <torch/extension.h>\n{declared}\nPYBIND11_MODULE(k, m) {{ m.def("f", &f); }}\n'
    stub = stub_of(text, "k")
    assert not stub.changes
    assert [(each.line, each.reason) for each in stub.unchanged] == [(text.count("\n"), reason)]


def test_the_name_of_a_function_is_one_line() -> None:
    """A continued string of C++ has several lines, which would be code of the Python file."""
    text = "#include <torch/extension.h>\nvoid g(at::Tensor x);\nvoid f(at::Tensor x);\n"
    text += 'PYBIND11_MODULE(k, m) { m.def("g", &g); m.def("f\\\nimport os #\\\n", &f); }\n'
    stub = stub_of(text, "k")
    assert [line for line in stub.after.splitlines() if line.startswith("import os")] == []


def test_no_stub_for_what_is_registered() -> None:
    assert list(stubs_for(MODULE + "TORCH_LIBRARY(a, m) {}", "bind.cpp", RULES, FileSet(), BoundModule())) == []


MAKER = "def make(name, module, sources):\n  return CUDAExtension(name=f'{module}.{name}', sources=sources)\n"


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        ("CUDAExtension(name='pkg._C', sources=['csrc/bind.cpp'])", "pkg._C"),
        ('CppExtension("one", ["a.cpp"]), CppExtension("two", ["bind.cpp"])', "two"),
        ("CUDAExtension(name, sources)", None),
        ('sources = glob(here)\nCUDAExtension(\n    "pkg.csrc",\n    sources,\n)', "pkg.csrc"),
        ('CppExtension("one", sources), CppExtension("two", sources)', None),
        ('if cuda: CUDAExtension("one", s)\nelse: CppExtension("one", s)', "one"),
        ('class Cmake(Extension):\n  pass\nCppExtension("one", s)', "one"),
        ('extension = CUDAExtension if cuda else CppExtension\nextension("pkg._C", sources)', "pkg._C"),
        ('name = "pkg._ext"\nExtension(name=name, sources=glob(here))', "pkg._ext"),
        ("name = 'a' if cuda else 'b'\nExtension(name=name, sources=glob(here))", None),
        (f"{MAKER}make('one', 'pkg.a', ['bind.cpp'])\nmake(name='two', module='b', sources=['x'])", "pkg.a.one"),
        (f"{MAKER}make(name='one', module='pkg.ops', sources=['x.cpp'])", "pkg.ops.one"),
        (
            f"{MAKER}make(name='one', module='a', sources=['bind.cpp'])\n"
            "make(name='two', module='csrc', sources=['bind.cpp'])",
            "csrc.two",
        ),
        ("print 'Python 2'\nExtension('one', s)", None),
    ],
)
def test_module_name_of_setup(setup: str, expected: str | None) -> None:
    assert module_of_setup(setup, "csrc/bind.cpp") == expected


@pytest.mark.slow
@table_rows
def test_time_grows_with_the_text(unit: str, before: str) -> None:
    """Ten times the text: quadratic work would take a hundred times as long."""
    short = seconds_of(_read, before + unit * 200)
    assert is_at_most(seconds_of(_read, before + unit * 2_000) - 40 * short, 3)


@pytest.mark.parametrize(
    ("unit", "before"), [("auto q = __ldg(q);\n", "using h = c10::Half; void k() {\n"), ("x.const_data_ptr<T>().", "")]
)
def test_a_chain_of_2_000_declarations_or_calls_is_refused(unit: str, before: str) -> None:
    """Each link leads to the previous one, so steps grow quadratically: 200 are read."""

    def refuse() -> None:
        with pytest.raises(UnreadableFile, match="too many steps"):
            _read(before + unit * 2_000)

    short = seconds_of(_read, before + unit * 200)
    assert is_at_most(seconds_of(refuse) - 40 * short, 3)


def _read(text: str) -> None:
    rewrite_source(text, "k.cu", RULES, FileSet())
    list(stubs_for(text, "k.cu", RULES, FileSet(), BoundModule()))


def test_the_module_of_a_source_is_the_one_that_names_its_path() -> None:
    """Like apex: several modules have an `interface.cpp`."""
    setup = """CUDAExtension(name="bnp", sources=["csrc/groupbn/interface.cpp"])
CUDAExtension(name="xentropy_cuda", sources=["csrc/xentropy/interface.cpp"])"""
    assert module_of_setup(setup, "/x/csrc/xentropy/interface.cpp") == "xentropy_cuda"
    assert module_of_setup(setup, "/x/csrc/other/interface.cpp") is None
    ambiguous = 'Extension("a", ["interface.cpp"]), Extension("b", ["interface.cpp"])'
    assert module_of_setup(ambiguous, "/x/interface.cpp") is None


def test_a_module_that_nothing_names_stays_open() -> None:
    text = 'Tensor f(Tensor x);\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }\n'
    stub = stub_of(text, "")
    assert "import MODULE_NAME as _bound" in stub.after
    said = re.search(r"Edit line (\d+):", stub.after)
    assert said is not None
    assert stub.after.splitlines()[int(said[1]) - 1] == "import MODULE_NAME as _bound"
    assert stub.after.count("MODULE_NAME") == 3, "the two comments and that line alone"


@table_rows
def test_module_name_of_cmake(text: str, expected: str | None) -> None:
    assert module_of_cmake(text, "src/bind.cpp") == expected


def test_lists_of_lists_are_not_registered() -> None:
    """torch.library.infer_schema rejects them (torch 2.13)."""
    text = "void f(std::vector<std::vector<at::Tensor>> x);\nvoid g(at::Tensor x);\n"
    text += 'PYBIND11_MODULE(a, m) { m.def("f", &f); m.def("g", &g); }\n'
    stub = stub_of(text, "a")
    assert "List[List" not in stub.after
    assert "#   f" in stub.after


NAMED = """#include <torch/extension.h>
torch::Tensor scale(torch::Tensor t, double by, int64_t dim, std::string mode, std::optional<torch::Tensor> w);
void fill(at::Tensor t, double v, at::ScalarType kind);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scale", &scale, "doc", py::arg("x"), py::arg("factor") = 2.5f, py::arg("dim") = -1, py::arg("mode") = "sum",
        py::arg("weight") = py::none());
  m.def("fill", &fill, "x"_a, "value"_a = 1e-5, "kind"_a = at::kFloat);
}
"""


@pytest.mark.torch
def test_a_stub_takes_keywords_and_defaults_as_the_module_does(tmp_path: Path, run_with_torch: Run) -> None:
    """`py::arg` defines how Python can call a function (pybind11's documentation, "Default arguments"); torch.library
    reads the stub, and passes the arguments on."""
    stub = stub_of(NAMED, "named_kernels")
    (tmp_path / "bind_operators.py").write_text(stub.after)
    (tmp_path / "named_kernels.py").write_text(
        "def scale(x, factor, dim, mode, weight):\n    return x * factor + (dim, mode, weight).count(None)\n"
        "def fill(x, value, kind):\n    x.fill_(value)\n"
    )
    program = (
        "import torch, bind_operators as ops\n"
        "x = torch.ones(2)\n"
        "assert ops.scale(x).tolist() == [3.5, 3.5]\n"
        "assert ops.scale(x=x, factor=2.0, weight=x).tolist() == [2.0, 2.0]\n"
        "ops.fill(x, 4.0, torch.float32)\n"
        "assert x.tolist() == [4.0, 4.0]\n"
        "print(torch.ops.named_kernels.scale.default._schema)\n"
    )
    run = run_with_torch(program, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert 'factor=2.5, SymInt dim=-1, str mode="sum", ' in run.stdout
    assert " weight=None) -> Tensor" in run.stdout
    # A default that is no literal ends the defaults: Python allows none before a parameter without one.
    assert "def fill(x: torch.Tensor, value: float, kind: torch.dtype) -> None" in stub.after


@table_rows
def test_module_name_with_the_package_that_it_is_installed_in(project: str, cmake: str, expected: str) -> None:
    """Expected: the place in the wheel that scikit-build-core 0.11 makes of such a project."""
    assert module_of_cmake(cmake, "src/bind.cpp", read_project(project)) == expected


def test_module_name_of_setuptools_in_pyproject() -> None:
    """https://setuptools.pypa.io/en/latest/userguide/ext_modules.html: `name` is the full dotted name."""
    text = """[tool.setuptools]
ext-modules = [
    {name = "pkg.one", sources = ["src/bind.cpp"]},
    {name = "pkg.two", sources = ["src/other.cpp"]},
]"""
    assert read_project(text).module_of("src/bind.cpp") == "pkg.one"
    assert read_project(text).module_of("src/third.cpp") is None
    for broken in ("[tool", "tool = 3", "[tool.setuptools]\next-modules = 3", "[tool.setuptools]\next-modules = [3]"):
        assert read_project(broken).module_of("src/bind.cpp") is None


def test_the_module_of_a_tree_comes_from_the_nearest_build_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "csrc").mkdir()
    bind = 'Tensor f(Tensor x);\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }\n'
    (tmp_path / "csrc" / "bind.cpp").write_text("#include <torch/extension.h>\nusing at::Tensor;\n" + bind)
    row = '[tool.setuptools]\next-modules = [{name = "pkg._C", sources = ["csrc/bind.cpp"]}]\n'
    (tmp_path / "pyproject.toml").write_text(row)
    monkeypatch.chdir(tmp_path)
    (stub,) = rewrite_tree(Path(), frozenset({"op-not-registered"}), [])
    assert "import pkg._C as _bound" in stub.after
    (tmp_path / "setup.py").write_text("from setuptools import setup\nsetup()\n")
    (stub,) = rewrite_tree(Path(), frozenset({"op-not-registered"}), [])
    assert "import pkg._C as _bound" in stub.after


BIND = '#include <torch/extension.h>\nat::Tensor f(at::Tensor x);\nPYBIND11_MODULE({}, m) {{ m.def("f", &f); }}\n'


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        # torch.utils.cpp_extension.load returns the module, and no name imports it (tried with torch 2.13).
        (
            "pkg/ops.py",
            'from torch.utils import cpp_extension\next = cpp_extension.load(name="k", sources=["csrc/bind.cpp"])\n',
            "from pkg.ops import ext as _bound",
        ),
        (
            "pkg/ops.py",
            'from torch.utils.cpp_extension import load\nif True:\n    ext = load("k", [HERE + "/bind.cpp"])\n',
            "from pkg.ops import ext as _bound",
        ),
        # aiter/jit/optCompilerConfig.json, get_module of aiter/jit/core.py
        ("pkg/table.json", """{"module_k": {"srcs": ["f'{CSRC}/bind.cpp'"]}}""", "import pkg.module_k as _bound"),
        # Tables of other tools, and of no package.
        ("pkg/lint.json", '{"module_k": {"srcs": ["csrc/bind.cpp"]}}', "import MODULE_NAME as _bound"),
        ("table.json", """{"module_k": {"srcs": ["f'{CSRC}/bind.cpp'"]}}""", "import MODULE_NAME as _bound"),
        (
            "pkg/ops.py",
            "try:\n    import k as ext\nexcept ImportError:\n    ext = cpp_extension.load('k', ['bind.cpp'])\n",
            "from pkg.ops import ext as _bound",
        ),
        (
            "pkg/ops.py",
            "if A:\n    ext = cpp_extension.load('k', ['bind.cpp', 'k.cu'])\n"
            "else:\n    ext = cpp_extension.load('k', ['bind.cpp'])\n",
            "from pkg.ops import ext as _bound",
        ),
        (
            "pkg/ops.py",
            "if A:\n    pass\n"
            + "elif A:\n    pass\n" * 1000
            + "else:\n    ext = cpp_extension.load('k', ['bind.cpp'])\n",
            "as _bound",
        ),
        ("pkg/__init__.py", "ext = cpp_extension.load('k', ['bind.cpp'])\n", "from pkg import ext as _bound"),
        ("pkg/my-script.py", "ext = cpp_extension.load('k', ['bind.cpp'])\n", "import MODULE_NAME as _bound"),
        ("pkg/lambda.py", "ext = cpp_extension.load('k', ['bind.cpp'])\n", "import MODULE_NAME as _bound"),
        ("pkg/broken.json", '{"srcs": [', "import MODULE_NAME as _bound"),
        ("pkg/ops.py", 'ext = cpp_extension.load(name="k", sources=[', "import MODULE_NAME as _bound"),
    ],
)
def test_a_module_that_is_compiled_when_it_runs(
    file: str, text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pkg" / "csrc").mkdir(parents=True)
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "csrc" / "bind.cpp").write_text(BIND.format("TORCH_EXTENSION_NAME"))
    (tmp_path / file).write_text(text)
    monkeypatch.chdir(tmp_path)
    (stub,) = rewrite_tree(Path(), frozenset({"op-not-registered"}), [])
    assert expected in stub.after


def test_a_lone_file_reads_only_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bind.cpp").write_text(BIND.format("TORCH_EXTENSION_NAME"))
    Path("below").mkdir()
    Path("below", "deep.py").write_text("ext = cpp_extension.load('k', ['bind.cpp'])\n")
    (stub,) = rewrite_tree(Path("bind.cpp"), frozenset({"op-not-registered"}), [])
    assert "import MODULE_NAME as _bound" in stub.after
    Path("ops.py").write_text("ext = cpp_extension.load('k', ['bind.cpp'])\n")
    (stub,) = rewrite_tree(Path("bind.cpp"), frozenset({"op-not-registered"}), [])
    assert "from ops import ext as _bound" in stub.after


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_only_regular_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read of a named pipe without a writer never ends."""
    monkeypatch.chdir(tmp_path)
    Path("bind.cpp").write_text(BIND.format("TORCH_EXTENSION_NAME"))
    for name in ("x.json", "x.py", "setup.py", "x.cpp"):
        os.mkfifo(name)
    for root in (Path(), Path("bind.cpp")):
        (stub,) = rewrite_tree(root, frozenset({"op-not-registered"}), [])
        assert "import MODULE_NAME as _bound" in stub.after
    errors: list[str] = []
    assert list(rewrite_tree(Path("x.cpp"), frozenset({"op-not-registered"}), errors)) == []
    assert errors == ["x.cpp: cannot be read"]


def test_the_prebuilt_module_of_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """setup.py of aiter 0.1.1: build_module(md_name="aiter_", ...) of the package with the table."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "table.json").write_text("""{"module_k": {"srcs": ["f'{CSRC}/bind.cpp'"]}}""")
    (tmp_path / "setup.py").write_text('core.build_module(md_name="all_", srcs=SOURCES)\n')
    (tmp_path / "all.cpp").write_text(BIND.format("TORCH_EXTENSION_NAME"))
    (tmp_path / "bind.cpp").write_text(BIND.format("TORCH_EXTENSION_NAME"))
    monkeypatch.chdir(tmp_path)
    stubs = rewrite_tree(Path(), frozenset({"op-not-registered"}), [])
    assert [re.search("import .* as _bound", stub.after)[0] for stub in stubs] == [  # type: ignore[index]
        "import pkg.all_ as _bound",
        "import pkg.module_k as _bound",
    ]
    (stub,) = rewrite_tree(Path("all.cpp"), frozenset({"op-not-registered"}), [])
    assert "import MODULE_NAME as _bound" in stub.after  # the package of the table is unknown


def test_a_module_with_the_name_in_its_source() -> None:
    stub = stub_of(BIND.format("my_ext"), "")
    assert "\nimport my_ext as _bound\n" in stub.after
    said = re.search(r"Edit line (\d+), if it is in a package", stub.after)
    assert said is not None
    assert stub.after.splitlines()[int(said[1]) - 1] == "import my_ext as _bound"


def test_a_parameter_without_a_type_for_torch_library_keeps_its_default() -> None:
    """Oracle: torch.library.infer_schema has no enumerations; pybind11 documentation, keyword arguments."""
    text = (
        "#include <torch/extension.h>\nenum class Mode : int { A };\n"
        "void f(at::Tensor& out, const at::Tensor& x, Mode mode, int block);\n"
        "PYBIND11_MODULE(ext, m) {\n"
        '  m.def("f", &f, py::arg("out"), py::arg("x"), py::arg("mode") = Mode::A, py::arg("block") = 4);\n}\n'
    )
    made = stub_of(text, "pkg.ext", "csrc/bind.cpp")
    stub = made.after
    assert "from pkg.bind_operators import f" in stub
    assert "# Left out, with their defaults: mode (Mode).\n@torch.library.custom_op" in stub
    assert "def f(out: torch.Tensor, x: torch.Tensor, block: int = 4) -> None:" in stub
    assert "_bound.f(out, x, block=block)" in stub


def test_parameters_without_a_name_in_python_are_passed_by_position() -> None:
    """Oracle: pybind11 accepts a keyword only of py::arg."""
    text = (
        "#include <torch/extension.h>\nat::Tensor f(at::Tensor x, double eps);\n"
        'PYBIND11_MODULE(ext, m) { m.def("f", &f); }\n'
    )
    made = stub_of(text, "ext")
    assert "return _bound.f(x, eps)" in made.after
