"""The codes of Microsoft's mangling: operators, builtin types, qualifiers, kinds of functions."""

from __future__ import annotations

from typing import Final

from abiscan.mangling.parser.render import DEPTH_LIMIT

# Behind `?`: operators by one letter. 0 and 1 are constructors and destructors, B conversions.
OPERATORS: Final = {
    "2": "operator new",
    "3": "operator delete",
    "4": "operator=",
    "5": "operator>>",
    "6": "operator<<",
    "7": "operator!",
    "8": "operator==",
    "9": "operator!=",
    "A": "operator[]",
    "C": "operator->",
    "D": "operator*",
    "E": "operator++",
    "F": "operator--",
    "G": "operator-",
    "H": "operator+",
    "I": "operator&",
    "J": "operator->*",
    "K": "operator/",
    "L": "operator%",
    "M": "operator<",
    "N": "operator<=",
    "O": "operator>",
    "P": "operator>=",
    "Q": "operator,",
    "R": "operator()",
    "S": "operator~",
    "T": "operator^",
    "U": "operator|",
    "V": "operator&&",
    "W": "operator||",
    "X": "operator*=",
    "Y": "operator+=",
    "Z": "operator-=",
    "_0": "operator/=",
    "_1": "operator%=",
    "_2": "operator>>=",
    "_3": "operator<<=",
    "_4": "operator&=",
    "_5": "operator|=",
    "_6": "operator^=",
    "_U": "operator new[]",
    "_V": "operator delete[]",
    "__L": "operator co_await",
    "__M": "operator<=>",
}
# Functions that a compiler makes for a class, with the texts of LLVM's demangler.
COMPILER_FUNCTIONS: Final = {
    "_9": "`vcall'",
    "_D": "`vbase dtor'",
    "_F": "`default ctor closure'",
    "_H": "`vector ctor iterator'",
    "_I": "`vector dtor iterator'",
    "_J": "`vector vbase ctor iterator'",
    "_K": "`virtual displacement map'",
    "_L": "`eh vector ctor iterator'",
    "_M": "`eh vector dtor iterator'",
    "_N": "`eh vector vbase ctor iterator'",
    "_O": "`copy ctor closure'",
    "_T": "`local vftable ctor closure'",
    "__A": "`managed vector ctor iterator'",
    "__B": "`managed vector dtor iterator'",
    "__C": "`EH vector copy ctor iterator'",
    "__D": "`EH vector vbase copy ctor iterator'",
    "__G": "`vector copy ctor iterator'",
    "__H": "`vector vbase copy constructor iterator'",
    "__I": "`managed vector vbase copy constructor iterator'",
}
BUILTINS: Final = {
    "X": "void",
    "D": "char",
    "C": "signed char",
    "E": "unsigned char",
    "F": "short",
    "G": "unsigned short",
    "H": "int",
    "I": "unsigned int",
    "J": "long",
    "K": "unsigned long",
    "M": "float",
    "N": "double",
    "O": "long double",
}
# After an underscore. Microsoft's signed and unsigned __int64 are C++'s long long.
WIDE_BUILTINS: Final = {
    "N": "bool",
    "J": "long long",
    "K": "unsigned long long",
    "L": "__int128",
    "M": "unsigned __int128",
    "W": "wchar_t",
    "Q": "char8_t",
    "S": "char16_t",
    "U": "char32_t",
    "P": "auto",
    "T": "decltype(auto)",
}
# <type qualifiers>: of a pointee, a member function or an object. Q to T mean a member.
QUALIFIERS: Final = {
    "A": "",
    "B": " const",
    "C": " volatile",
    "D": " const volatile",
    "Q": "",
    "R": " const",
    "S": " volatile",
    "T": " const volatile",
}
# The kind of a pointer or reference, and its own qualifiers.
POINTERS: Final = {
    "A": ("&", ""),
    "B": ("&", " volatile"),
    "P": ("*", ""),
    "Q": ("*", " const"),
    "R": ("*", " volatile"),
    "S": ("*", " const volatile"),
}
CALLING_CONVENTIONS: Final = frozenset("ABCDEFGHIJMNOPQSWw")
VARIABLES: Final = {"0": "private static", "1": "protected static", "2": "public static", "3": "", "4": ""}
_ACCESS: Final = ("private", "protected", "public")
# For each access: a plain member, a static one, a virtual one, a thunk that adjusts `this`; the second letter of each
# pair is for a far function.
FUNCTIONS: Final = {
    letter: (f"{_ACCESS[number // 8]}{('', ' static', ' virtual', ' virtual')[number % 8 // 2]}", number % 8 // 2 == 3)
    for number, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWX")
} | {"Y": ("", False), "Z": ("", False)}
# After `$`: thunks of virtual bases.
VIRTUAL_THUNKS: Final = {digit: f"{_ACCESS[int(digit) // 2]} virtual" for digit in "012345"}


def may_be_large_microsoft(mangled: str) -> bool:
    """Whether a name may expand to much longer text, or nest deeply. Only its letters are counted: each function type
    ends with Z and may refer several times to the one before it."""
    return len(mangled) >= DEPTH_LIMIT - 20 or mangled.count("Z") > 3
