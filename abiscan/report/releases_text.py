"""`abiscan releases list`: the known builds as a table or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from abiscan.report.markdown_table import aligned

# The fields of a build in JSON, in order.
FIELDS = (
    *("key", "torch", "variant", "machine", "cuda", "hip", "cxx11_abi", "git_revision", "wheel", "sha256", "user"),
)


def render(builds: Sequence[Mapping[str, Any]], *, as_json: bool) -> str:
    """One line per build: version, variant, architecture, std::string ABI, GPU toolkit, index and revision.

    Args:
        builds: the `FIELDS` of each.
    """
    if as_json:
        import json

        return json.dumps(builds, indent=2, ensure_ascii=False) + "\n"
    rows = [("torch", "variant", "machine", "std::string", "CUDA/ROCm", "index", "revision")]
    strings = {True: "new", False: "old", None: "-"}
    for build in builds:
        gpu = f"CUDA {build['cuda']}" if build["cuda"] else f"ROCm {build['hip']}" if build["hip"] else "-"
        index, revision = "user" if build["user"] else "shipped", (build["git_revision"] or "-")[:12]
        string = strings[build["cxx11_abi"]]
        rows.append((build["torch"], build["variant"], build["machine"], string, gpu, index, revision))
    return "".join(f"{line}\n" for line in aligned(rows))
