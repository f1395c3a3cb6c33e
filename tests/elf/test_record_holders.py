"""Classes that a file's own classes contain by value. Oracle: the compiled source."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from abiscan.analysis.layouts import NOT_ITS_OWN
from abiscan.elf import open_elf

SOURCE = """
#include <optional>
#include <vector>
namespace c10 {
struct Held { char a[40]; };
struct Base { int b; };
struct Alias { int c; };
struct Pointed { int d; };
struct Listed { int e; };
struct Shared { int f; };
struct InTorch { int g; };
struct Nested { int h; };
struct Unnamed { int i; };
struct Uses { InTorch inside; };
template <class T> struct Wrapped { T value; };
}
struct THPThing { c10::InTorch inside; } thing;
using Other = const c10::Alias;
namespace own {
class Holder {
 public:
  int first;
  c10::Held held;
  Other alias{};
  c10::Pointed* pointed;
  c10::Pointed& referred;
  std::vector<c10::Listed> listed;
  static c10::Shared shared;
  struct In { volatile c10::Nested nested; } in;
  Holder(c10::Pointed& p) : referred(p) {}
  int f();
};
int Holder::f() { return first + held.a[0] + in.nested.h; }
c10::Shared Holder::shared;
struct Derived : c10::Base { int x; } derived;
}
namespace { struct Hidden { c10::Unnamed unnamed; } hidden; }
c10::Uses uses;
std::optional<c10::InTorch> optional;
extern "C" int run(int n) { hidden.unnamed.i = n; c10::Listed local{n}; return local.e + own::derived.b; }
"""
WANTED = [
    *("c10::Held", "c10::Base", "c10::Alias", "c10::Pointed", "c10::Listed", "c10::Shared"),
    *("c10::InTorch", "c10::Nested", "c10::Unnamed"),
]
EXPECTED = {
    "c10::Alias": "own::Holder",
    "c10::Base": "own::Derived",
    "c10::Held": "own::Holder",
    "c10::Nested": "own::Holder::In",
    "c10::Unnamed": "(anonymous namespace)::Hidden",
}


@pytest.mark.parametrize(
    "command",
    [
        "g++ -gdwarf-5",
        "g++ -gdwarf-4",
        "g++ -gdwarf-3 -gstrict-dwarf",
        "g++ -gdwarf-5 -fdebug-types-section",
        "g++ -gdwarf-4 -fdebug-types-section -gz=zlib",
        "clang++ -gdwarf-5 -fstandalone-debug",
        "clang++ -gdwarf-4 -fstandalone-debug",
    ],
)
def test_members_and_bases(command: str, tmp_path: Path) -> None:
    compiler = command.split(maxsplit=1)[0]
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "a.cpp").write_text(SOURCE)
    subprocess.run(
        [*command.split(), "-std=c++17", "-shared", "-fPIC", "a.cpp", "-o", "a.so"], cwd=tmp_path, check=True
    )
    elf = open_elf(tmp_path / "a.so")
    assert elf.record_holders(WANTED, NOT_ITS_OWN) == EXPECTED
    assert elf.record_holders([], NOT_ITS_OWN) == {}


def test_a_file_without_debug_information_tells_nothing() -> None:
    file = Path(__file__).parents[1] / "fixtures" / "drift" / "reads-torch-2.8.so"
    assert open_elf(file).record_holders(WANTED, NOT_ITS_OWN) == {}
