"""Messages about the GPU and its driver: the cause, and the values in the message."""

from __future__ import annotations

import pytest

from abiscan.diagnosis import Knowledge, explain
from abiscan.library import api
from abiscan.model.cause import Cause, CauseId


def _causes(text: str, knowledge: Knowledge) -> tuple[Cause, ...]:
    (subject,) = explain(text, knowledge)
    return subject.causes


@pytest.mark.parametrize(("gpu", "which"), [("sm_120", "newer than all"), ("sm_35", "older than all"), ("sm_89", "")])
def test_torch_names_the_gpu_and_what_it_has_code_for(gpu: str, which: str, nothing: Knowledge) -> None:
    text = (
        f"X with CUDA capability {gpu} is not compatible with the current PyTorch installation.\n"
        "The current PyTorch install supports CUDA capabilities sm_50 sm_86 sm_90.\n"
    )
    (cause,) = _causes(text, nothing)
    assert cause.cause is CauseId.GPU_ARCHITECTURE_MISMATCH
    assert gpu in cause.evidence[0]
    assert "sm_50, sm_86, sm_90" in cause.evidence[1]
    assert [which in line for line in cause.evidence[2:]] == ([True] if which else [])


def test_torch_reports_a_gpu_as_too_old(nothing: Knowledge) -> None:
    text = "Found GPU0 X which is of cuda capability 3.5.\nPyTorch no longer supports this GPU because it is too old."
    (cause,) = _causes(text, nothing)
    assert "no code for sm_35" in cause.evidence[0]
    assert "older than all" in cause.evidence[-1]


@pytest.mark.parametrize(("number", "release"), [("11040", "11.4"), ("9010", "9.1"), ("12020", "12.2")])
def test_the_driver_by_its_number(number: str, release: str, nothing: Knowledge) -> None:
    """cuDriverGetVersion: 1000 * major + 10 * minor (CUDA Driver API)."""
    text = f"RuntimeError: The NVIDIA driver on your system is too old (found version {number})."
    (cause,) = _causes(text, nothing)
    assert cause.cause is CauseId.DRIVER_MISMATCH
    assert f"CUDA up to {release}," in cause.evidence[1]


@pytest.mark.parametrize(("gpu", "index"), [("sm_120", "cu128"), ("sm_100", "cu128"), ("sm_110", "cu130")])
def test_a_gpu_newer_than_torch_gets_the_index_with_code_for_it(gpu: str, index: str) -> None:
    # Release notes of torch 2.7 (Blackwell, CUDA 12.8) and of CUDA 13.0 (the first toolkit for sm_110).
    said = f"GPU with CUDA capability {gpu} is not compatible with the current PyTorch installation."
    text = f"{said}\nThe current PyTorch install supports CUDA capabilities sm_50 sm_80 sm_86 sm_90."
    assert f"https://download.pytorch.org/whl/{index} " in api.explain(text)[0].causes[0].fix.splitlines()[0]
    jetson = api.explain(f"{text}\nJetson Thor, JetPack 7")[0].causes[0].fix
    assert "download.pytorch.org" not in jetson
