"""Rewrites the flagged places of sources."""

from __future__ import annotations

import difflib
import posixpath
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterator, Mapping

from msgspec import Struct

from abiscan.source.code import Code
from abiscan.source.flagged_place import FlaggedPlace
from abiscan.source.match import SourceRules, places_in
from abiscan.source.pybind_functions import pybind_functions
from abiscan.source.rewrites.accessors import const_data_ptr, packed_accessor, tensor_data, type_properties
from abiscan.source.rewrites.edited_source import Edit, EditableSource, NotRewritten, edited
from abiscan.source.rewrites.equivalents import error_macro, read_only_load, successor
from abiscan.source.rewrites.registration_stub import BoundModule, registration_stub, why_unregistered
from abiscan.source.source_set import SourceSet

# Rule -> function from a place to edits, or the reason why there are none.
REWRITES: Mapping[str, Callable[[FlaggedPlace, EditableSource], list[Edit] | NotRewritten]] = {
    "const-data-ptr": const_data_ptr,
    "deprecated-type-properties": type_properties,
    "half-intrinsic": read_only_load,
    "packed-accessor": packed_accessor,
    "removed-macros": error_macro,
    "removed-name": successor,
    "tensor-data": tensor_data,
    "thc-api": successor,
}
# The rule with a new file as its rewrite.
STUB_RULE = "op-not-registered"


class UnchangedPlace(Struct, frozen=True):
    """A flagged place without a rewrite.

    Attributes:
        line: from 1.
        reason: the end of a sentence.
    """

    path: str
    line: int
    rule: str
    reason: str


class RequestedFunction(Struct, frozen=True):
    """The one bound function to register.

    Attributes:
        name: in Python.
        module: import name of its module; empty if it is not given.
    """

    name: str
    module: str = ""


class Rewritten(Struct, frozen=True):
    """The result for one file.

    Attributes:
        before, after: its text; `before` is empty for a new file.
        rules: rules with rewritten places.
    """

    path: str
    before: str
    after: str
    rules: tuple[str, ...]
    unchanged: tuple[UnchangedPlace, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the text changed."""
        return self.before != self.after

    def diff(self, path: str | None = None) -> str:
        """A unified diff for `git apply` and `patch -p1`.

        Args:
            path: path of the file in the diff, if different.
        """
        name = self.path if path is None else path
        # git and patch require a tab after a name with a space.
        name += "\t" if " " in name else ""
        old = "/dev/null" if not self.before else f"a/{name}"
        lines = difflib.unified_diff(_lines(self.before), _lines(self.after), old, f"b/{name}")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    # Not splitlines: a form feed ends no line of a diff.
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + parts[-1:] * bool(parts[-1])


def rewrite_source(
    text: str, path: str, rules: SourceRules, others: SourceSet, wanted: Collection[str] | None = None
) -> Rewritten:
    """Rewrite all places of one source that have a rewrite.

    Args:
        path: in reports; its extension determines the language.
        others: finds included files; `path` is the name of this file in it.
        wanted: rules to rewrite; None for all.
    """
    written = EditableSource(path, text, others)
    edits: set[Edit] = set()
    ranges: list[tuple[int, int]] = []
    unchanged: list[UnchangedPlace] = []
    done: set[str] = set()
    newlines = [at for at, char in enumerate(text) if char == "\n"]
    for place in places_in(text, path, rules, others):
        rule = place.rule.id
        rewrite = REWRITES.get(rule)
        if rewrite is None or place.accepted is not None or (wanted is not None and rule not in wanted):
            continue
        made = rewrite(place, written)
        if isinstance(made, list) and _overlap(made, ranges):
            made = NotRewritten("it overlaps another rewrite: run the command again afterwards")
        if isinstance(made, NotRewritten):
            unchanged.append(UnchangedPlace(path, bisect_right(newlines, place.at - 1) + 1, rule, made.reason))
        else:
            edits.update(made)
            for edit in made:
                if edit.end > edit.start:
                    insort(ranges, (edit.start, edit.end))
            done.add(rule)
    return Rewritten(path, text, edited(text, list(edits)) if edits else text, tuple(sorted(done)), tuple(unchanged))


def _overlap(made: list[Edit], ranges: list[tuple[int, int]]) -> bool:
    """Whether an edit overlaps with earlier ones.

    Args:
        ranges: of earlier edits, sorted, without overlaps.
    """
    for edit in made:
        at = bisect_left(ranges, (edit.end, 0))
        if at and ranges[at - 1][1] > edit.start:
            return True
    return False


def _bound_module(text: str, at: int, module: BoundModule) -> BoundModule:
    """The module of the `PYBIND11_MODULE(name, m)` at a character offset; its name may be left to the build.

    Args:
        module: as the project defines it.
    """
    name = text[text.find("(", at) + 1 :].partition(",")[0].strip()[:200]
    named = name if name.isidentifier() and name != "TORCH_EXTENSION_NAME" else ""
    # The name in setup.py ends in the name in the source, which alone does not identify the package.
    fits = module.name and named in ("", module.name.rpartition(".")[2])
    return module if fits else BoundModule(named, packaged=False)


def stubs_for(
    text: str,
    path: str,
    rules: SourceRules,
    others: SourceSet,
    module: BoundModule,
    *,
    requested: RequestedFunction | None = None,
) -> Iterator[Rewritten]:
    """A new Python file that registers what a source binds by pybind11 only; without changes if that is nothing.

    Args:
        module: as the project defines it; without a name if it does not.
        requested: the only function to register, of all that the source binds.
    """
    for place in places_in(text, path, rules, others):
        if place.rule.id != STUB_RULE:
            continue
        bound = [
            each
            for each in pybind_functions(place.at, Code(path, text, many=True), others)
            if requested is None or each.name == requested.name
        ]
        functions = [each for each in bound if each.signature is not None and each.signature.on_tensors]
        stem = posixpath.splitext(posixpath.basename(path))[0] if requested is None else requested.name
        draft = f"{stem}_operators.py"
        if requested is not None and requested.module:
            known = module if requested.module == module.name else BoundModule(requested.module)
        else:
            known = _bound_module(text, place.at, module)
        stub = registration_stub(posixpath.basename(path), known, functions, draft)
        if stub is not None:
            target = posixpath.join(posixpath.dirname(path), draft)
            yield Rewritten(target, "", stub, (STUB_RULE,))
        elif bound:
            line = text.count("\n", 0, place.at) + 1
            reason = why_unregistered(functions or bound)
            yield Rewritten(path, "", "", (), (UnchangedPlace(path, line, STUB_RULE, reason),))
