"""No regular expression is built from input: each part of a pattern is a constant or went through `re.escape`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import abiscan

pytestmark = pytest.mark.one_python

PACKAGE = Path(abiscan.__file__).parent
_FUNCTIONS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
# Variables whose values are not followed: opcodes, which are constants of the same module, and byte patterns that
# `_class` and `_upper_halves` make from escaped ones.
_NOT_FOLLOWED = {("elf/displacements.py", "op"), ("elf/displacements.py", "following")}

# Their patterns are rows of the package's own data, each tested in tests/diagnosis: test_message_catalogue.py,
# test_looser_forms.py and test_text_facts.py.
_OF_THE_CATALOGUE = {
    "diagnosis/catalogue/load_packages.py",
    "diagnosis/readings/match_messages.py",
    "diagnosis/readings/mentioned_names.py",
    "diagnosis/text/text_facts.py",
}


class _Checked:
    """The names of one module with values that contain no input."""

    def __init__(self, place: str, tree: ast.Module) -> None:
        self.place = place
        self.constants = {
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        # Constants of other modules of the package.
        self.constants |= {
            each.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("abiscan.")
            for each in node.names
            if each.name.isupper()
        }
        self.functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def is_safe(self, node: ast.AST | None) -> bool:
        """Whether an expression contains only constants and escaped texts."""
        match node:
            case None | ast.Constant() | ast.Lambda():
                return True
            case ast.Name(id=name):
                return name in self.constants or (self.place, name) in _NOT_FOLLOWED or self._is_safe_local(node, name)
            case ast.Attribute(value=value, attr="pattern"):
                return self.is_safe(value)
            case ast.Subscript(value=value):
                return self.is_safe(value)
            case ast.JoinedStr(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
                return all(self.is_safe(each) for each in values)
            case ast.FormattedValue(value=value):
                return self.is_safe(value)
            case ast.Starred(value=value):
                return self.is_safe(value)
            case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element):
                return self.is_safe(element)
            case ast.BinOp(left=left, right=right):
                return self.is_safe(left) and self.is_safe(right)
            case ast.IfExp(body=body, orelse=other):
                return self.is_safe(body) and self.is_safe(other)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="escape")):
                return True
            case ast.Call(func=ast.Attribute(value=value, attr="replace"), args=args):
                return self.is_safe(value) and all(isinstance(each, ast.Constant) for each in args)
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[parts]):
                return self._are_safe(parts)
            # fnmatch.translate escapes everything except wildcards.
            case ast.Call(func=ast.Name(id="translate")):
                return True
        return False

    def _are_safe(self, parts: ast.expr) -> bool:
        match parts:
            case ast.Call(func=ast.Name(id="map"), args=[function, _]):
                return ast.unparse(function) == "re.escape"
        return self.is_safe(parts)

    def _is_safe_local(self, at: ast.AST, name: str) -> bool:
        """Whether all values that the function binds to a name, or appends to it, are safe; parameters are not."""
        inside: ast.AST = at
        while not isinstance(inside, ast.FunctionDef | ast.Module):
            inside = self.parents[inside]
        bound = []
        for node in ast.walk(inside):
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                    bound.append(self.is_safe(value))
                case ast.AugAssign(target=ast.Name(id=target), value=value) if target == name:
                    bound.append(self.is_safe(value))
                case ast.Call(func=ast.Attribute(value=ast.Name(id=target), attr="append" | "extend"), args=[value]):
                    bound += [self.is_safe(value)] if target == name else []
                case ast.For(target=target, iter=values) | ast.comprehension(target=target, iter=values) if name in {
                    each.id for each in ast.walk(target) if isinstance(each, ast.Name)
                }:
                    bound.append(self.is_safe(values))
        return bool(bound) and all(bound)


def unsafe_patterns(place: str, source: str) -> list[str]:
    """`line: pattern` of each pattern, and template of a replacement, that may contain input."""
    tree = ast.parse(source)
    checked = _Checked(place, tree)
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="re", names=names) if not _FUNCTIONS & {each.name for each in names}:
                pass
            case ast.ImportFrom(module="re" | "sre_compile" | "sre_parse"):
                found.append(f"{node.lineno}: imports from re: the check follows `re.` alone")
            case ast.Import(names=names) if any(each.name == "re" and each.asname for each in names):
                found.append(f"{node.lineno}: imports re under another name")
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=function), args=[pattern, *_]):
                if function in _FUNCTIONS and not checked.is_safe(pattern):
                    found.append(f"{node.lineno}: {ast.unparse(pattern)}")
            case _:
                pass
        template = _template(node)
        if template is not None and not (
            isinstance(template, ast.Constant | ast.Lambda)
            or (isinstance(template, ast.Name) and template.id in checked.functions)
        ):
            found.append(f"{node.lineno}: replaced by {ast.unparse(template)}")
    return found


def _template(node: ast.AST) -> ast.expr | None:
    r"""The replacement in a call of `re.sub` or `Pattern.sub`; a `\` in it has a meaning."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="sub" | "subn"), args=[_, template, *_]):
            return template
        case ast.Call(func=ast.Attribute(attr="sub" | "subn"), args=[template, _, *_]):
            return template
    return None


def test_no_pattern_holds_input() -> None:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = str(path.relative_to(PACKAGE))
        text = path.read_text("utf-8")
        if place not in _OF_THE_CATALOGUE and ("import re" in text or "from re" in text or ".sub" in text):
            found[place] = unsafe_patterns(place, text)
    assert {place: lines for place, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "pattern",
    [
        "name",
        "rf'\\b{name}'",
        "'a' + name",
        "'%s' % name",
        "'|'.join(names)",
        "'|'.join(n for n in names)",
        "'{}'.format(name)",
        "made",
        "rf'{re.escape(name)}{name}'",
    ],
)
def test_a_pattern_of_input_is_found(pattern: str) -> None:
    source = f"import re\ndef f(name, names, text):\n    made = name\n    return re.search({pattern}, text)\n"
    assert len(unsafe_patterns("x.py", source)) == 1


@pytest.mark.parametrize("call", ["re.sub('a', name, text)", "_A.sub(name, text)"])
def test_a_template_of_input_is_found(call: str) -> None:
    source = f"import re\n_A = re.compile('a')\ndef f(name, text):\n    return {call}\n"
    assert len(unsafe_patterns("x.py", source)) == 1


def test_escaped_input_is_none() -> None:
    source = (
        "import re\n_A = 'a'\ndef f(name, names, text):\n"
        "    for each in (_A, 'b'):\n        re.match(each, text)\n"
        "    return re.search(rf'{_A}{re.escape(name)}' + '|'.join(map(re.escape, names)), text)\n"
    )
    assert unsafe_patterns("x.py", source) == []
