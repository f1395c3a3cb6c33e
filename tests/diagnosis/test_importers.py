"""The package that a traceback shows last is the one whose build is at fault, where the message names no file.

Expected values: the frames themselves.
"""

from __future__ import annotations

import pytest

from abiscan.diagnosis import Knowledge, explain

_NOT_FOUND = ": cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (
            '  File "/v/lib/python3.10/site-packages/xformers/ops/__init__.py", line 8, in <module>\n'
            f"ImportError: libcudart.so.11.0{_NOT_FOUND}",
            "xformers==",
        ),
        (
            f"FAIL : Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.11{_NOT_FOUND}",
            "onnxruntime-gpu[cuda,cudnn]>=1.21,<1.27",
        ),
    ],
)
def test_the_fix_is_of_the_package_that_imported_it(text: str, command: str, nothing: Knowledge) -> None:
    (subject,) = explain(text, nothing)
    assert command in subject.causes[0].fix


def test_torch_does_not_import_an_extension(nothing: Knowledge) -> None:
    text = (
        '  File "/v/lib/python3.10/site-packages/torch/utils/a.py", line 8, in <module>\n'
        f"ImportError: libcudart.so.11.0{_NOT_FOUND}"
    )
    (subject,) = explain(text, nothing)
    assert "pip install --upgrade" not in subject.causes[0].fix
