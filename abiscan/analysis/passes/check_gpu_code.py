"""Check the device code of the file against the GPUs of `--gpu`."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord
from abiscan.analysis.kernels_on import check_kernels


def check_gpu_code(record: FileRecord) -> None:
    """Find the GPUs on which no kernel of the file runs."""
    context = record.context
    record.gpu_check = check_kernels(
        record.device_images,
        context.gpus,
        record.module,
        context.driver,
        needed=[each.soname for each in record.needed],
    )
    if record.concerns_torch and record.torch is not None:
        context.checked_against(record.torch)
