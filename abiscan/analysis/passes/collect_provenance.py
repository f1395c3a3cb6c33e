"""Collect the provenance of the file."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord
from abiscan.model.imports import Owner
from abiscan.provenance.provenance_facts import FactOrigin
from abiscan.provenance.read_provenance import read_provenance


def collect_provenance(record: FileRecord) -> None:
    """Read compilers, ABIs, GPU code and versions, and the classes that derive from torch classes."""
    artifact, binary = record.artifact, record.binary
    record.provenance = read_provenance(
        binary,
        record.facts,
        record.imports,
        record.matrix,
        record.device_images,
        origin=FactOrigin(artifact.member or artifact.path, artifact.group.facts.version),
    )
    bases = frozenset(
        each.name
        for each in record.imports
        if each.owner is Owner.TORCH and each.name.startswith("_ZTI") and each.symbol.relocated
    )
    record.derived_classes = binary.derived_classes(bases) if bases else ()
