"""Which words of a text are looked for, and who reads what stands around them. A new message is a reader and a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from abiscan.diagnosis.messages import (
    compiler_messages,
    linker_messages,
    loader_messages,
    python_messages,
    torch_messages,
    windows_messages,
)
from abiscan.diagnosis.messages.mention import Mention
from abiscan.diagnosis.messages.message_text import Hit

Reader = Callable[[Hit], Iterator[Mention]]

# Each word is looked for as it is written; where two rows have hits at one place, the first row's counts.
READERS: Final[tuple[tuple[str, Reader], ...]] = (
    ("undefined symbol", loader_messages.undefined_symbol),
    ("Undefined symbol", loader_messages.undefined_symbol),
    ("UNDEFINED SYMBOL", loader_messages.undefined_symbol),
    ("\u672a\u5b9a\u4e49\u7684\u7b26\u53f7", loader_messages.chinese_symbol),
    ("\u672a\u5b9a\u4e49\u7b26\u53f7", loader_messages.chinese_symbol),
    ("\u7b26\u53f7\u672a\u5b9a\u4e49", loader_messages.chinese_symbol),
    ("\u627e\u4e0d\u5230\u7b26\u53f7", loader_messages.chinese_symbol),
    ("not defined in file", loader_messages.link_time_reference),
    ("cannot apply R_", loader_messages.relocation),
    ("cannot locate symbol", loader_messages.locate_symbol),
    ("Error relocating", loader_messages.musl),
    ("symbol not found in flat namespace", loader_messages.flat_namespace),
    ("Symbol not found:", loader_messages.symbol_not_found),
    ("dlsym(", loader_messages.dlsym),
    ("cannot open shared object file", loader_messages.cannot_open),
    ("Unable to open shared object file", loader_messages.cannot_open),
    ("unable to open shared object file", loader_messages.cannot_open),
    ("Failed to open shared object file", loader_messages.cannot_open),
    ("failed to open shared object file", loader_messages.cannot_open),
    ("\u65e0\u6cd5\u6253\u5f00\u5171\u4eab\u5bf9\u8c61\u6587\u4ef6", loader_messages.cannot_open),
    ("Library not loaded:", loader_messages.not_loaded),
    ("Could not load library", loader_messages.not_loaded),
    ("Unable to load library", loader_messages.not_loaded),
    ("failed to open", loader_messages.not_loaded),
    ("Unable to load any of", loader_messages.none_loaded),
    (", needed by", linker_messages.needed_by),
    ("FileNotFoundError", loader_messages.missing_file),
    (" => not found", loader_messages.not_found_by_ldd),
    ("static TLS", loader_messages.static_tls),
    ("does not define module export function", loader_messages.module_init),
    ("does not define init function", loader_messages.module_init),
    ("version `", loader_messages.version_not_found),
    ("version '", loader_messages.version_not_found),
    ("version \u201c", loader_messages.version_not_found),
    ("version \u2018", loader_messages.version_not_found),
    ("cannot find -l", linker_messages.cannot_find_library),
    ("undefined reference to", linker_messages.undefined_reference),
    ("undefined references to", linker_messages.undefined_reference),
    ("nicht definierter Verweis auf", linker_messages.undefined_reference),
    ("r\u00e9f\u00e9rence ind\u00e9finie vers", linker_messages.undefined_reference),
    ("referencia a", linker_messages.undefined_reference),
    ("riferimento non definito a", linker_messages.undefined_reference),
    ("refer\u00eancia n\u00e3o definida para", linker_messages.undefined_reference),
    (
        "\u043d\u0435\u043e\u043f\u0440\u0435\u0434\u0435\u043b\u0451\u043d\u043d\u0430\u044f "
        "\u0441\u0441\u044b\u043b\u043a\u0430 \u043d\u0430",
        linker_messages.undefined_reference,
    ),
    ("\u672a\u5b9a\u4e49\u7684\u5f15\u7528", linker_messages.undefined_reference),
    (
        "\u306b\u5bfe\u3059\u308b\u5b9a\u7fa9\u3055\u308c\u3066\u3044\u306a\u3044\u53c2\u7167",
        linker_messages.undefined_reference,
    ),
    ("\u3078\u306e\u672a\u5b9a\u7fa9\u53c2\u7167", linker_messages.undefined_reference),
    ("Undefined symbols for architecture", linker_messages.undefined_symbols),
    ("unresolved external symbol", linker_messages.unresolved_external),
    ("\u65e0\u6cd5\u89e3\u6790\u7684\u5916\u90e8\u7b26\u53f7", linker_messages.unresolved_external),
    ("no matching function for call to", compiler_messages.no_overload),
    ("no instance of overloaded function", compiler_messages.no_overload),
    ("no instance of function template", compiler_messages.no_overload),
    (" is not defined", python_messages.name_error),
    ("\u672a\u5b9a\u4e49", python_messages.name_error),
    ("marked as skipped", python_messages.marked_as_skipped),
    ("does not know how to trace the builtin", python_messages.marked_as_skipped),
    ("Graph break due to unsupported builtin", python_messages.unsupported_builtin),
    ("[WinError ", windows_messages.win_error),
    ("DLL load failed", windows_messages.dll_load_failed),
    ("Could not find module", windows_messages.could_not_find),
    ("does not exist", torch_messages.operator_before),
    ("No such operator", torch_messages.operator_behind),
    ("Unknown builtin op", torch_messages.operator_behind),
    ("Could not find schema for", torch_messages.operator_behind),
    ("_OpNamespace", torch_messages.op_namespace),
    ("load custom C++ ops", torch_messages.no_operators),
    ("compiled with different CUDA", torch_messages.cuda_of_extension),
    ("mismatches the version that was used to compile", torch_messages.cuda_of_toolkit),
    ("does not match the version torch was compiled with", torch_messages.cuda_of_toolkit),
    ("(you have ", torch_messages.built_for_torch),
    ("Expected PyTorch version", torch_messages.expected_torch),
)
