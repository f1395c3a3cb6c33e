"""Generates files of the repository: `python tools/generate.py [--check] [FILE...]`.

`--check` writes nothing and exits with status 1 if a file is out of date. Default: all files. Data from downloaded
wheels or interpreters have tools of their own (`build_release_index.py`, ...).
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this work tree, even if another is installed

from abiscan.errors import AbiscanError  # noqa: E402
from tools import (  # noqa: E402
    cause_data,
    cause_docs,
    glossary_docs,
    limit_docs,
    message_data,
    package_data,
    pass_docs,
    preload_docs,
    readme_output,
    repository,
    rule_data,
    rule_docs,
    schema_enums,
    table_docs,
    vendor_data,
)
from tools.shown_output import with_output  # noqa: E402

# File -> function from its present text to the new one. A new generated file is a new row.
GENERATED: dict[str, Callable[[str], str]] = {
    "abiscan/data/rules.json": rule_data.render,
    "abiscan/data/causes.json.gz": cause_data.render,
    "abiscan/data/messages.json.gz": message_data.render,
    "abiscan/data/code_causes.json.gz": message_data.render_code_causes,
    "abiscan/data/packages.json.gz": package_data.render,
    "abiscan/data/inlined_calls.json": package_data.render_inlined_calls,
    "abiscan/data/mentions.json.gz": package_data.render_mentions,
    "abiscan/data/text_facts.json.gz": package_data.render_text_facts,
    "abiscan/data/vendors.json": vendor_data.render,
    "abiscan/data/report.schema.json": schema_enums.render,
    "docs/architecture.md": pass_docs.render,
    "docs/diagnosis.md": cause_docs.render,
    "docs/glossary.md": glossary_docs.render,
    "docs/explanation/loader.md": preload_docs.render,
    "docs/rules.md": rule_docs.render,
    "docs/reference/tables.md": table_docs.render,
    "SECURITY.md": limit_docs.render,
    "README.md": readme_output.render,
    "CITATION.cff": repository.render,
    "abiscan/report/address.py": repository.render,
    "docs/how-to/ci.md": repository.render,
    **rule_docs.pages(),
    **cause_docs.pages(),
    **{f"docs/tutorials/{page.name}": with_output for page in sorted((ROOT / "docs" / "tutorials").glob("*.md"))},
    "docs/how-to/recipes.md": with_output,
    "docs/how-to/comparing.md": with_output,
}
# Folders with generated pages only: other pages belong to removed rules or causes.
_WHOLE = ("docs/rules", "docs/causes")


def generate(name: str, root: Path, *, check: bool) -> bool:
    """Generate one file below `root`. Return whether it was up to date."""
    path = root / name
    unpack, pack = (gzip.decompress, _compressed) if path.suffix == ".gz" else (bytes, bytes)
    current = unpack(path.read_bytes()).decode() if path.exists() else ""
    wanted = GENERATED[name](current)
    if wanted != current and not check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pack(wanted.encode()))
    return wanted == current


def _compressed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)  # without a time: equal data make equal files


def gone(root: Path, *, check: bool) -> list[str]:
    """Remove pages that are no longer generated. Return their names."""
    found = [path for folder in _WHOLE for path in (root / folder).glob("*.md")]
    left = [path for path in found if path.relative_to(root).as_posix() not in GENERATED]
    for path in left:
        if not check:
            path.unlink()
    return [path.relative_to(root).as_posix() for path in left]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="*", metavar="FILE", help=", ".join(GENERATED))
    options = parser.parse_args()
    unknown = [name for name in options.files if name not in GENERATED]
    if unknown:
        parser.error(f"not generated: {', '.join(unknown)}")
    stale = []
    for name in options.files or GENERATED:
        try:
            current = generate(name, ROOT, check=options.check)
        except (AbiscanError, msgspec.ValidationError, tomllib.TOMLDecodeError) as error:  # a table has an invalid row
            parser.exit(2, f"cannot generate {name}: {error}\n")
        if not current:
            stale.append(name)
    if not options.files:
        stale += gone(ROOT, check=options.check)
    for name in stale:
        print(f"{name} is stale: run tools/generate.py" if options.check else f"{name} made anew", file=sys.stderr)
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
