"""Libraries that every Windows and every macOS has.

Windows: the API sets (https://learn.microsoft.com/windows/win32/apiindex/windows-apisets), the libraries that the
"Requirements" of the functions of the Windows API name, and the Visual C++ runtime, which torch, CPython and the
redistributable package install (https://learn.microsoft.com/cpp/windows/determining-which-dlls-to-redistribute).
macOS: every library below /usr/lib and /System/Library (many exist only in dyld's shared cache).
"""

from __future__ import annotations

from abiscan.model.imports import Owner
from abiscan.model.platforms import file_key

_API_SETS = ("api-ms-win-", "ext-ms-win-", "ext-ms-")
_C_RUNTIME = ("api-ms-win-crt-", "ucrtbase", "msvcrt")
_CXX_RUNTIME = ("vcruntime140", "msvcp140", "concrt140", "msvcp120", "msvcr120", "msvcp110", "msvcr110", "msvcp100")
_OPENMP = ("vcomp", "libiomp5md", "libomp", "libiompstubs5md")
_WINDOWS = frozenset(
    (
        *("kernel32", "kernelbase", "ntdll", "user32", "gdi32", "advapi32", "shell32", "shlwapi", "ole32", "oleaut32"),
        *("ws2_32", "wsock32", "mswsock", "iphlpapi", "dnsapi", "winhttp", "wininet", "netapi32", "secur32", "crypt32"),
        *("bcrypt", "bcryptprimitives", "ncrypt", "cryptbase", "rpcrt4", "sechost", "userenv", "wtsapi32", "setupapi"),
        *("cfgmgr32", "version", "psapi", "dbghelp", "imagehlp", "powrprof", "pdh", "winmm", "comctl32", "comdlg32"),
        *("imm32", "uxtheme", "dwmapi", "propsys", "normaliz", "synchronization", "authz", "credui", "msimg32"),
        *("opengl32", "glu32", "d3d9", "d3d11", "d3d12", "d3dcompiler_47", "dxgi", "dxcore", "dxva2", "directml"),
        *("mf", "mfplat", "mfreadwrite", "mfuuid", "avicap32", "avrt", "msvfw32", "avifil32", "msacm32", "evr"),
        *("windowscodecs", "d2d1", "dwrite", "gdiplus", "usp10", "winspool.drv", "hid", "winusb", "cabinet", "wldap32"),
        *("shcore", "mpr", "msi", "oleacc", "urlmon", "wevtapi", "wintrust", "mscoree", "fltlib", "virtdisk", "ktmw32"),
    )
)

_MACOS = ("/usr/lib/", "/System/Library/")
_MACOS_OWNERS = {"libSystem": Owner.LIBC, "libc++": Owner.CXX, "libstdc++": Owner.CXX}


def system_owner(library: str) -> Owner | None:
    """Return the owner of a library that every Windows or macOS has; None for any other library.

    Args:
        library: as an import spells it: `KERNEL32.dll`, `/usr/lib/libSystem.B.dylib`.
    """
    if library.startswith(_MACOS):
        stem = file_key(library).partition(".")[0]
        return next((owner for start, owner in _MACOS_OWNERS.items() if stem.startswith(start)), Owner.SYSTEM)
    name = file_key(library)
    stem = name.removesuffix(".dll")
    if stem == name:
        return Owner.SYSTEM if name in _WINDOWS else None
    if stem.startswith(_C_RUNTIME):
        return Owner.LIBC
    if stem.startswith(_CXX_RUNTIME) and "-" not in stem:
        return Owner.CXX
    if stem.startswith(_OPENMP) and "-" not in stem:
        return Owner.OPENMP
    return Owner.SYSTEM if stem in _WINDOWS or stem.startswith(_API_SETS) else None
