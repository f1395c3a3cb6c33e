"""`abiscan releases list`: the known builds as a table or JSON."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from abiscan.model.release import KnownBuild
from abiscan.report.markdown_table import aligned


def render(builds: Sequence[KnownBuild], *, as_json: bool) -> str:
    """One line per build: version, variant, architecture, std::string ABI, GPU toolkit, index and revision."""
    if as_json:
        import json

        return json.dumps([asdict(build) for build in builds], indent=2, ensure_ascii=False) + "\n"
    rows = [("torch", "variant", "machine", "std::string", "CUDA/ROCm", "index", "revision")]
    strings = {True: "new", False: "old", None: "-"}
    for build in builds:
        gpu = f"CUDA {build.cuda}" if build.cuda else f"ROCm {build.hip}" if build.hip else "-"
        index, revision = "user" if build.user else "shipped", (build.git_revision or "-")[:12]
        rows.append((build.torch, build.variant, build.machine, strings[build.cxx11_abi], gpu, index, revision))
    return "".join(f"{line}\n" for line in aligned(rows))
