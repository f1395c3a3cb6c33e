"""Letter codes of the Itanium C++ ABI (chapter "Mangling", <builtin-type>, <operator-name>)."""

from __future__ import annotations

from typing import Final

# <builtin-type>, one letter.
BUILTIN_TYPES: Final[dict[str, str]] = {
    "v": "void",
    "w": "wchar_t",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "n": "__int128",
    "o": "unsigned __int128",
    "f": "float",
    "d": "double",
    "e": "long double",
    "g": "__float128",
    "z": "...",
}

# <builtin-type>, D and a letter.
D_BUILTIN_TYPES: Final[dict[str, str]] = {
    "d": "decimal64",
    "e": "decimal128",
    "f": "decimal32",
    "h": "half",
    "i": "char32_t",
    "s": "char16_t",
    "u": "char8_t",
    "a": "auto",
    "c": "decltype(auto)",
    "n": "std::nullptr_t",
}

# Suffix (up to three letters) or cast of an integer literal of the type.
LITERAL_SUFFIX: Final[dict[str, str]] = {
    "w": "wchar_t",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "",
    "j": "u",
    "l": "l",
    "m": "ul",
    "x": "ll",
    "y": "ull",
    "n": "__int128",
    "o": "unsigned __int128",
}

# Abbreviated substitutions: text, name of the class template, and arguments if it is an instance.
STD_ABBREVIATIONS: Final[dict[str, tuple[str, str, str]]] = {
    "a": ("std::allocator", "allocator", ""),
    "b": ("std::basic_string", "basic_string", ""),
    "s": ("std::string", "basic_string", "<char, std::char_traits<char>, std::allocator<char>>"),
    "i": ("std::istream", "basic_istream", "<char, std::char_traits<char>>"),
    "o": ("std::ostream", "basic_ostream", "<char, std::char_traits<char>>"),
    "d": ("std::iostream", "basic_iostream", "<char, std::char_traits<char>>"),
}

# Precedence of expressions, tightest first; an operand that binds no tighter than its operator gets parentheses.
(
    PRIMARY,
    POSTFIX,
    UNARY,
    CAST,
    POINTER_TO_MEMBER,
    MULTIPLICATIVE,
    ADDITIVE,
    SHIFT,
    SPACESHIP,
    RELATIONAL,
    EQUALITY,
    AND,
    XOR,
    OR,
    AND_IF,
    OR_IF,
    CONDITIONAL,
    ASSIGN,
    COMMA,
    LOOSEST,
) = range(20)

# Mangling of an operator's operands.
(
    BINARY,
    PREFIX,
    POSTFIX_OR_PREFIX,
    SUBSCRIPT,
    MEMBER,
    CALL,
    NEW,
    DELETE,
    NAMED_CAST,
    OF_TYPE,
    OF_EXPRESSION,
    CONDITION,
) = range(12)

# <operator-name>: text after "operator", form of the operands in an expression, precedence.
OPERATORS: Final[dict[str, tuple[str, int, int]]] = {
    "aN": ("&=", BINARY, ASSIGN),
    "aS": ("=", BINARY, ASSIGN),
    "aa": ("&&", BINARY, AND_IF),
    "ad": ("&", PREFIX, UNARY),
    "an": ("&", BINARY, AND),
    "aw": (" co_await", PREFIX, UNARY),
    "cl": ("()", CALL, POSTFIX),
    "cm": (",", BINARY, COMMA),
    "co": ("~", PREFIX, UNARY),
    "dV": ("/=", BINARY, ASSIGN),
    "da": (" delete[]", DELETE, UNARY),
    "de": ("*", PREFIX, UNARY),
    "dl": (" delete", DELETE, UNARY),
    "ds": (".*", MEMBER, POINTER_TO_MEMBER),
    "dt": (".", MEMBER, POSTFIX),
    "dv": ("/", BINARY, MULTIPLICATIVE),
    "eO": ("^=", BINARY, ASSIGN),
    "eo": ("^", BINARY, XOR),
    "eq": ("==", BINARY, EQUALITY),
    "ge": (">=", BINARY, RELATIONAL),
    "gt": (">", BINARY, RELATIONAL),
    "ix": ("[]", SUBSCRIPT, POSTFIX),
    "lS": ("<<=", BINARY, ASSIGN),
    "le": ("<=", BINARY, RELATIONAL),
    "ls": ("<<", BINARY, SHIFT),
    "lt": ("<", BINARY, RELATIONAL),
    "mI": ("-=", BINARY, ASSIGN),
    "mL": ("*=", BINARY, ASSIGN),
    "mi": ("-", BINARY, ADDITIVE),
    "ml": ("*", BINARY, MULTIPLICATIVE),
    "mm": ("--", POSTFIX_OR_PREFIX, POSTFIX),
    "na": (" new[]", NEW, UNARY),
    "ne": ("!=", BINARY, EQUALITY),
    "ng": ("-", PREFIX, UNARY),
    "nt": ("!", PREFIX, UNARY),
    "nw": (" new", NEW, UNARY),
    "oR": ("|=", BINARY, ASSIGN),
    "oo": ("||", BINARY, OR_IF),
    "or": ("|", BINARY, OR),
    "pL": ("+=", BINARY, ASSIGN),
    "pl": ("+", BINARY, ADDITIVE),
    "pm": ("->*", MEMBER, POINTER_TO_MEMBER),
    "pp": ("++", POSTFIX_OR_PREFIX, POSTFIX),
    "ps": ("+", PREFIX, UNARY),
    "pt": ("->", MEMBER, POSTFIX),
    "qu": ("?", CONDITION, CONDITIONAL),
    "rM": ("%=", BINARY, ASSIGN),
    "rS": (">>=", BINARY, ASSIGN),
    "rm": ("%", BINARY, MULTIPLICATIVE),
    "rs": (">>", BINARY, SHIFT),
    "ss": ("<=>", BINARY, SPACESHIP),
}

# Expressions that are not operator functions: named casts and queries about a type or an expression.
# Keyword, form of the operand, precedence.
EXPRESSION_KEYWORDS: Final[dict[str, tuple[str, int, int]]] = {
    "at": ("alignof", OF_TYPE, UNARY),
    "az": ("alignof", OF_EXPRESSION, UNARY),
    "cc": ("const_cast", NAMED_CAST, POSTFIX),
    "dc": ("dynamic_cast", NAMED_CAST, POSTFIX),
    "rc": ("reinterpret_cast", NAMED_CAST, POSTFIX),
    "sc": ("static_cast", NAMED_CAST, POSTFIX),
    "st": ("sizeof", OF_TYPE, UNARY),
    "sz": ("sizeof", OF_EXPRESSION, UNARY),
    "te": ("typeid", OF_EXPRESSION, POSTFIX),
    "ti": ("typeid", OF_TYPE, POSTFIX),
    "nx": ("noexcept", OF_EXPRESSION, UNARY),
}
