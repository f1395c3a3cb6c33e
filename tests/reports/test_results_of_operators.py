"""Which `mutates_args` an operator can have, by the type of its result, as the fix of op-not-registered says.

The oracle is torch: `torch.compile(fullgraph=True)` of a function that calls the operator."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests import torch_here
from tests.programs import run_program

PROGRAM = """
import json, torch
from typing import List, Tuple
RESULTS = {
    "Tensor": (torch.Tensor, lambda x: x + 1),
    "tensors": (Tuple[torch.Tensor, torch.Tensor], lambda x: (x + 1, x + 2)),
    "None": (None, lambda x: None),
    "list": (List[torch.Tensor], lambda x: [x + 1, x + 2]),
    "float": (float, lambda x: 1.5),
    "tuple with a number": (Tuple[torch.Tensor, int], lambda x: (x + 1, 2)),
    "int": (int, lambda x: 3),
    "bool": (bool, lambda x: True),
}
traced = {}
for number, (name, (annotation, value)) in enumerate(RESULTS.items()):
    for mutates in ("unknown", ()):
        def function(x):
            return value(x)
        function.__annotations__ = {"x": torch.Tensor, "return": annotation}
        operator = torch.library.custom_op(f"results::f{number}_{len(mutates)}", function, mutates_args=mutates)
        operator.register_fake(lambda x, value=value: value(x))
        torch._dynamo.reset()
        try:
            torch.compile(lambda x: (x * 2, operator(x)), fullgraph=True, backend="aot_eager")(torch.ones(3))
        except Exception as error:
            traced[f"{name}, {mutates}"] = type(error).__name__
        else:
            traced[f"{name}, {mutates}"] = "traced"
print(json.dumps(traced))
"""


@pytest.mark.slow
@pytest.mark.torch
def test_results_that_torch_compile_traces() -> None:
    libraries = {"LD_LIBRARY_PATH": str(torch_here.directory() / "lib")}
    done = run_program([sys.executable, "-W", "ignore", "-c", PROGRAM], env={**os.environ, **libraries})
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    for result in ("Tensor", "tensors", "None"):
        assert outcome[f"{result}, unknown"] == outcome[f"{result}, ()"] == "traced"
    for result in ("list", "float", "tuple with a number"):
        assert outcome[f"{result}, unknown"] != "traced"
        assert outcome[f"{result}, ()"] == "traced"
    for result in ("int", "bool"):
        assert outcome[f"{result}, unknown"] == outcome[f"{result}, ()"] == "Unsupported"
