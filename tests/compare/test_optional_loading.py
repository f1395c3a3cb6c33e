"""Which shared objects the Python code of a package loads in a `try` statement. Oracle: the import of the package by
this Python, with a file that is no shared object in their place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.compare.file_outcome import find_package_outcome
from abiscan.compare.optional_loading import optional_files
from abiscan.compare.run_time_libraries import with_openers
from abiscan.filesystem import HERE
from abiscan.model.environment_report import PackageState
from abiscan.model.report import ArtifactVerdict
from tests.compare.test_environment import FAILS
from tests.compare.typed import distribution

CDLL = "import ctypes, pathlib\nfor f in pathlib.Path(__file__).parent.glob('_C*.so'):\n    "


@pytest.mark.parametrize(
    ("source", "optional"),
    [
        ("try:\n    from p._C import x\nexcept ImportError:\n    x = None", True),
        ("try:\n    from . import _C\nexcept (ValueError, ImportError):\n    pass", True),
        ("try:\n    import p._C\nexcept Exception:\n    pass", True),
        ("import importlib\ntry:\n    importlib.import_module('p._C')\nexcept:\n    pass", True),
        (CDLL + "try:\n        ctypes.CDLL(str(f))\n    except OSError:\n        pass", True),
        (CDLL + "try:\n        ctypes.CDLL(str(f))\n    except ImportError:\n        pass", False),
        (CDLL + "ctypes.CDLL(str(f))", False),
        ("from . import _C", False),
        ("try:\n    from . import _C\nexcept ModuleNotFoundError:\n    pass", False),
        ("try:\n    from . import _C\nexcept ImportError as e:\n    raise RuntimeError('build it') from e", False),
        ("try:\n    from . import _C\nexcept ImportError:\n    import sys\n    sys.exit(1)", False),
        ("try:\n    from . import _C\nfinally:\n    pass", False),
        ("try:\n    pass\nexcept ImportError:\n    pass\nelse:\n    from . import _C", False),
        ("try:\n    from . import _C\nexcept ImportError:\n    pass\nfrom p import _C", False),
        ("try:\n    from . import _C\nexcept ImportError:\n    from p import _C", False),
        ("try:\n    def load():\n        from . import _C\nexcept ImportError:\n    pass\nload()", False),
    ],
)
def test_a_file_is_optional_if_the_import_continues_without_it(tmp_path: Path, source: str, optional: bool) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/__init__.py").write_text(source)
    (tmp_path / "p/_C.so").write_text("no shared object")
    run = subprocess.run([sys.executable, "-c", "import p"], cwd=tmp_path, capture_output=True, check=False)
    assert (run.returncode == 0) is optional
    assert optional_files(str(tmp_path), ["p/_C.so"], HERE) == ({"p/_C.so": "p/__init__.py"} if optional else {})


def test_a_source_that_needs_it_elsewhere_makes_it_required(tmp_path: Path) -> None:
    (tmp_path / "p/sub").mkdir(parents=True)
    (tmp_path / "p/__init__.py").write_text("try:\n    from . import _C\nexcept ImportError:\n    pass")
    (tmp_path / "p/sub/ops.py").write_text("def run():\n    from .._C import x")
    assert optional_files(str(tmp_path), ["p/_C.so"], HERE) == {}
    (tmp_path / "p/sub/ops.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .. import _C")
    assert optional_files(str(tmp_path), ["p/_C.so"], HERE) == {"p/_C.so": "p/__init__.py"}


@pytest.mark.parametrize("other", [b"def run(:\n    from . import _C", b"#" * (1 << 20)])
def test_a_source_that_is_not_read_may_need_it(tmp_path: Path, other: bytes) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/__init__.py").write_text("try:\n    from . import _C\nexcept ImportError:\n    pass")
    assert optional_files(str(tmp_path), ["p/_C.so"], HERE) == {"p/_C.so": "p/__init__.py"}
    (tmp_path / "p/ops.py").write_bytes(other)
    assert optional_files(str(tmp_path), ["p/_C.so"], HERE) == {}


@pytest.mark.parametrize("damaged", [b"\0", b"try:\n  _C", b"(" * 5000 + b"_C", b"\xff_C"])
def test_a_source_that_cannot_be_parsed_shows_nothing(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/__init__.py").write_bytes(damaged)
    assert optional_files(str(tmp_path), ["p/_C.so"], HERE) == {}


def test_a_package_without_its_optional_files_loads_in_part(tmp_path: Path) -> None:
    """torchao 0.18.0 on a CPU build of torch 2.13.0: both of its files fail, and `import torchao` succeeds."""
    (tmp_path / "p").mkdir()
    file = replace(FAILS, package_path="p/_C.so", path=str(tmp_path / "p/_C.so"), verdict=ArtifactVerdict.FAILS)
    package = replace(distribution("p", "torch"), shared_objects=(file.path,))
    assert find_package_outcome(with_openers({"p": [file]}, [package], HERE)["p"]).state is PackageState.FAILS
    (tmp_path / "p/__init__.py").write_text("try:\n    from . import _C\nexcept ImportError:\n    pass")
    found = find_package_outcome(with_openers({"p": [file]}, [package], HERE)["p"])
    assert found.state is PackageState.PARTLY
    assert found.reason.endswith("p/__init__.py loads it in a `try` statement and continues without it")
