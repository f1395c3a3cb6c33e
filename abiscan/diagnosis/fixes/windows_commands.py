"""Commands of a fix as both shells of Windows, cmd.exe and PowerShell, read them."""

from __future__ import annotations

import re
from typing import Final

# cmd.exe has no single quotes and no `#` comments.
_CODE: Final = r"python -c '([^'\"\n$]{1,400})'"
_COMMAND: Final = (
    r"(?:or: |Otherwise: )?(?:pip|python|conda|set|abiscan|where|dumpbin|findstr|dir|del|rmdir|nvcc|nvidia-smi)\b"
)
_OF_PIP: Final = r"(?<![\w.-])(?<!-m )(?<!uv )pip (?=install\b|uninstall\b|show\b|list\b)"
_OF_PYTHON: Final = r"(?<![\w.-])(?:python|pip) "
# Programs of other systems, and those of Windows for the same.
_GREP: Final = r"grep -rnE(?: -e)? '(?P<words>[^'\n]{1,200})'(?: --include=\S{1,64}){1,8} \."
_FIND: Final = r"find \. \$\(python -c [^\n]{1,120}\) -name '(?P<name>[\w*]{1,200})\.so'"
_EXPORT: Final = (
    r"\bexport (?P<name>[A-Z_]{2,64})="
    r"(?:\"(?P<quoted>[\w.+;-]{1,200})\"|(?P<plain>[\w.+-]{1,200})(?![\w$/:]))(?P<more>; )?"
)
_UNSET: Final = r"(?<![\w-])unset (?P<names>[A-Z_]{2,64}(?: [A-Z_]{2,64}){0,3})(?![\w$])(?P<more>; )?"
# Folders of caches below the home folder.
_CACHES: Final = {
    ".triton/cache": "%USERPROFILE%\\.triton\\cache",
    ".cache/torch_extensions": "%LOCALAPPDATA%\\torch_extensions",
}
_REMOVE: Final = (
    rf'rm -rf "\$\{{\w{{1,64}}:-\$HOME/(?P<folder>{"|".join(map(re.escape, _CACHES))})\}}"(?:(?P<more>; )|(?=  #|\Z))'
)
_TOOLKIT: Final = (
    r"export CUDA_HOME=/usr/local/cuda-(?P<release>\d{1,2}\.\d|X\.Y)(?:; export PATH=\$CUDA_HOME/bin:\$PATH)?"
)


def for_windows(fix: str, python_folder: str = "") -> str:
    """A fix with the programs of Windows, code in double quotes, and comments on lines of their own.

    Args:
        python_folder: the folder with the python.exe of the program that fails, if it is not the one of PATH.
    """
    commands = "\n".join(_for_cmd(line) for line in fix.splitlines())
    if not python_folder or re.search(_OF_PYTHON, commands) is None:
        return commands
    folder = python_folder if ":" in python_folder else f"%CD%\\{python_folder}"
    where = "" if ":" in python_folder else f", in the folder with {python_folder}"
    commands = re.sub(_OF_PIP, "python -m pip ", commands)
    return f'set "PATH={folder};%PATH%"\n(in cmd.exe{where}: the Python that fails, then used below)\n{commands}'


def _for_cmd(line: str) -> str:
    if "grep -rn" in line:
        line = re.sub(_GREP, _findstr, line)
    if "find . " in line:
        line = re.sub(_FIND, r"dir /s /b \g<name>.pyd", line)
    if "export " in line:
        line = re.sub(_EXPORT, _set, re.sub(_TOOLKIT, _set_toolkit, line))
    if "unset " in line:
        line = re.sub(_UNSET, _unset, line)
    if "rm -rf " in line:
        line = re.sub(_REMOVE, _rmdir, line)
    command, _, comment = line.partition("  # ")
    if comment and not comment.endswith(":") and re.match(_COMMAND, command):
        line = f"{command}\n({comment})"
    return re.sub(_CODE, r'python -c "\1"', line)


def _unset(found: re.Match[str]) -> str:
    commands = " && ".join(f'set "{name}="' for name in found["names"].split(" "))
    return commands + (" && " if found["more"] else "")


def _rmdir(found: re.Match[str]) -> str:
    return f'rmdir /s /q "{_CACHES[found["folder"]]}"{" && " if found["more"] else ""}'


def _findstr(found: re.Match[str]) -> str:
    # Words with blanks between are alternatives.
    words = found["words"].replace("|", " ")
    return f'findstr /s /n "{words}" setup.py CMakeLists.txt *.cmake'


def _set(found: re.Match[str]) -> str:
    return f'set "{found["name"]}={found["quoted"] or found["plain"]}"{" && " if found["more"] else ""}'


def _set_toolkit(found: re.Match[str]) -> str:
    folder = f"%ProgramFiles%\\NVIDIA GPU Computing Toolkit\\CUDA\\v{found['release']}"
    return f'set "CUDA_HOME={folder}" && set "CUDA_PATH={folder}"'
