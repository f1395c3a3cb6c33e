"""Commands of a fix as cmd.exe reads them, or else the shell of Git for Windows."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable
from typing import Final

# cmd.exe has no single quotes and no `#` comments.
_CODE: Final = r"python -c '([^'\n$]{1,400})'"
_COMMENTED: Final = (
    r"(?:or: |Otherwise: )?(?:pip|python|conda|set|abiscan|where|dumpbin|findstr|dir|del|rmdir|nvcc|nvidia-smi|git|"
    r"cmake|cd|echo|uv|numba)\b"
)
# An argument in single quotes: cmd.exe takes `<` in it for a file.
_QUOTED: Final = r"(?<=[ =])'([^'\"\n$%]{1,200})'(?= |\Z)"
_OF_PIP: Final = r"(?<![\w.-])(?<!-m )(?<!uv )pip (?=install\b|uninstall\b|show\b|list\b)"
_OF_PYTHON: Final = r"(?<![\w.-])(?:python|pip) "
_COMMENT: Final = re.compile(r"(  # | & rem )")
_PREFIX: Final = re.compile(r"(?:\(?(?:[\w ,.-]|(?<=\w)'(?=s )){1,80}: )?")
_OTHER_SYSTEM: Final = re.compile(r"(?:or, )?(?:on )?(?:Linux|macOS|WSL|Colab|Debian|Ubuntu|Fedora)\b[^:]{0,40}: ")
_PROGRAM: Final = re.compile(
    r"(?:[A-Z_][A-Z\d_]{1,63}=(?:\"[^\"]*\"|\$\([^\n]{1,120}?\)|[^\s\"]*) )*(?:COMMAND|"
    r"abiscan|apt-cache|apt-get|c\+\+|cat|cd|clang|cmake|conda|cp|curl|df|dmesg|docker|echo|env|export|find|"
    r"for(?= each )|g\+\+|gcc|git|grep|head|ldconfig|ldd|ln|ls|lsmod|lspci|mkdir|mokutil|mv|nm|numba|nvcc|"
    r"nvidia-smi|pip|ps|python|readelf|rm|rocminfo|sed|source|sudo|touch|uname|unset|uv|which)(?=[ ;])"
)
# A command of a line, up to a separator outside quotes.
_STEP: Final = re.compile(r"""((?:[^;&'"]|'[^']*'|"[^"]*"|&(?!& )|;(?! ))+?)(; | && |\Z)""")
# Programs, variables and folders that Windows does not have.
_OF_LINUX: Final = re.compile(
    r"(?<![\w-])(?:apt-cache|apt-get|brew|df|dkms|dmesg|dnf|docker|LD_LIBRARY_PATH|LD_PRELOAD|ldconfig|ldd|lsmod|lspci|"
    r"modprobe|mokutil|nm|patchelf|ps|readelf|rocminfo|source|sudo|uname|update-alternatives)(?![\w=-])|"
    r"(?<![\w$}])/(?:etc|opt|proc|usr)\b|find / "
)
# What cmd.exe reads otherwise. Git for Windows has a shell that reads it.
_OF_SHELL: Final = re.compile(
    r"(?:^|[|] )(?:cat|cp|cut|env|export|find|for|grep|head|ln|ls|mv|rm|sed|tail|tee|touch|unset|which|xargs)(?= )|"
    r"\$[({A-Z_]|^[A-Z_][A-Z\d_]{1,63}=|~/"
)
_TOOLKITS: Final = r"%ProgramFiles%\NVIDIA GPU Computing Toolkit\CUDA"
_TEMPLATE: Final = _TOOLKITS.replace("\\", r"\\")
_IN_TOOLKIT: Final = (
    r"(?P<name>\bset \"[A-Z_]{1,64}=)?/usr/local/cuda(?:-(?P<release>\d{1,2}\.\d|X\.Y))?"
    r"(?P<file>(?:/\w[\w.]{0,32}){0,4})(?P<path>:\$PATH)?(?![\w/*.$:-])"
)
# Parts of commands. The installer of CUDA sets CUDA_PATH, and the programs are in PATH.
_PARTS: Final = (
    (
        r"export CUDA_HOME=/usr/local/cuda-(\d{1,2}\.\d|X\.Y)"
        r"(?:; export PATH=\$CUDA_HOME/bin:\$PATH| PATH=/usr/local/cuda-\1/bin:\$PATH)?",
        rf'set "CUDA_HOME={_TEMPLATE}\\v\1" && set "CUDA_PATH={_TEMPLATE}\\v\1"',
    ),
    (
        r"export CUDA_HOME=/usr/local/cuda(?![\w/.-])"
        r"(?:; export PATH=\$CUDA_HOME/bin:\$PATH(?: CUDACXX=\$CUDA_HOME/bin/nvcc)?)?",
        'set "CUDA_HOME=%CUDA_PATH%"',
    ),
    (r"export CUDA_HOME=\$CONDA_PREFIX(?![\w/])", r'set "CUDA_HOME=%CONDA_PREFIX%\\Library"'),
    (r"\bls -d /usr/local/cuda\*", f'dir /b "{_TEMPLATE}"'),
    (r"(?<![\w$(-])which(?: -a)? (?=\w)", "where "),
    (r" 2>&1 [|] tee ([\w.]{1,64})", r" > \1 2>&1"),
    (r"[|] grep -i ([\w.]{1,64})(?= |;|\Z)", r"| findstr /i \1"),
    (r"[|] grep ([\w.]{1,64})(?= |;|\Z)", r"| findstr \1"),
    (r" 2>/dev/null\b", " 2>nul"),
    (r"\bsource ([\w.-]{1,64})/bin/activate", r"\1\\Scripts\\activate"),
    (r"grep -rlw --include=setup\.py (\w{1,64}) \.", r"findstr /s /m \1 setup.py"),
    (r"find \. \$\(python -c [^\n]{1,120}\) -name '([\w*]{1,200})\.so'", r"dir /s /b \1.pyd"),
)
_GREP: Final = r"grep -rnE(?: -e)? '(?P<words>[^'\n]{1,200})'(?: --include=\S{1,64}){1,8} \."
_GREP_IN_FILE: Final = r"grep -n(?: -m\d)? -E '(?P<words>[\w: |]{1,200})' (?P<file>[\w.]{1,64})"
_ASSIGNMENT: Final = r"([A-Z_][A-Z\d_]{1,63})=(?:\"([^\"$`]{1,200})\"|([^\s\"'$/`]{0,200}))(?: |\Z)"
_EXPORT: Final = re.compile(rf"export (?P<names>(?:{_ASSIGNMENT}){{1,8}})")
_FOR_COMMAND: Final = re.compile(rf"(?P<names>(?:{_ASSIGNMENT}){{1,8}})(?P<command>[a-z][\s\S]*)")
_EXPORT_IN_COMMENT: Final = r"\bexport ([A-Za-z_]\w{1,63}=[\w.;+-]{1,100})(?![\w$/:])"
_UNSET: Final = re.compile(r"unset (?P<names>[A-Z_][A-Z\d_]{1,63}(?: [A-Z_][A-Z\d_]{1,63}){0,3})")
_ECHO: Final = re.compile(r"echo(?: \$[A-Z_][A-Z\d_]{1,63}| \"\$[A-Z_][A-Z\d_]{1,63}\"){1,8}")
_REMOVE: Final = re.compile(
    r"rm -rf (?P<names>(?:\"[^\"]{1,100}\"|[\w.*/-]{1,100})(?: (?:\"[^\"]{1,100}\"|[\w.*/-]{1,100})){0,7})"
)
# Folders of caches below the home folder, and files of a build.
_REMOVED: Final = {
    '"${TRITON_CACHE_DIR:-$HOME/.triton/cache}"': r'rmdir /s /q "%USERPROFILE%\.triton\cache"',
    '"${TORCH_EXTENSIONS_DIR:-$HOME/.cache/torch_extensions}"': r'rmdir /s /q "%LOCALAPPDATA%\torch_extensions"',
    "/tmp/torch_extensions": "",
    "*.so": "del *.pyd",
    "*.egg-info": '(for /d %d in (*.egg-info) do rmdir /s /q "%d")',
    "build": "rmdir /s /q build",
    "dist": "rmdir /s /q dist",
}


def for_windows(fix: str, python_folder: str = "") -> str:
    """A fix with the programs of Windows, code in double quotes, and comments on lines of their own; without lines for
    other systems, if any line is left.

    Args:
        python_folder: the folder with the python.exe of the program that fails, if it is not the one of PATH.
    """
    lines = fix.splitlines()
    of_windows = [*filter(None, map(_for_cmd, lines))] or lines
    commands = "\n".join(of_windows)
    if lines and not lines[0].startswith("or: "):
        commands = commands.removeprefix("or: ")
    if not python_folder or re.search(_OF_PYTHON, commands) is None:
        return commands
    folder = python_folder if ":" in python_folder else f"%CD%\\{python_folder}"
    where = "" if ":" in python_folder else f", in the folder with {python_folder}"
    commands = re.sub(_OF_PIP, "python -m pip ", commands)
    return f'set "PATH={folder};%PATH%"\n(in cmd.exe{where}: the Python that fails, then used below)\n{commands}'


def _for_cmd(line: str) -> str:
    """A line in the words of cmd.exe, or else of the shell of Git for Windows; empty if it is for other systems."""
    if _OTHER_SYSTEM.match(line) is not None:
        return ""
    start = found.end() if (found := _PREFIX.match(line)) is not None else 0
    command, mark, comment = (
        _COMMENT.split(line[start:], maxsplit=1) if _COMMENT.search(line) else (line[start:], "", "")
    )
    if _PROGRAM.match(command) is not None:
        parts = _parts(_with_parts(command))
        if not parts:
            return ""
        if any(map(_OF_SHELL.search, map(_step, itertools.chain.from_iterable(parts)))):
            in_shell = "; ".join(map(" && ".join, _parts(command)))
            return in_shell and f"{line[:start]}in Git Bash: {in_shell}{mark}{comment}"
        command = functools.reduce(_behind, (" && ".join(map(_step, part)) for part in parts))
        command = re.sub(_QUOTED, r'"\1"', command)
    comment = re.sub(_EXPORT_IN_COMMENT, r"set \1", comment)
    shown = re.sub(_CODE, _code, line[:start] + command)
    if mark == "  # " and not comment.endswith(":") and re.match(_COMMENTED, shown):
        return f"{shown}\n({comment})"
    return shown + mark + comment


def _code(found: re.Match[str]) -> str:
    """Python code in double quotes, and its strings in single ones."""
    code = found[1].replace('"', "'")
    return f'python -c "{code}"'


def _behind(first: str, then: str) -> str:
    """Two commands of which the second is run even if the first fails, as `set` does not."""
    return f"{first} && {then}" if re.split(" && | & ", first)[-1].startswith("set ") else f"{first} & {then}"


def _parts(command: str) -> list[list[str]]:
    """The commands between `; `, each with those between ` && `, without those for Linux; all as one if a quotation
    mark has no other."""
    steps = _STEP.findall(command)
    if "".join(itertools.chain.from_iterable(steps)) != command:
        steps = [(command, "")]
    parts: list[list[str]] = [[]]
    for step, end in steps:
        parts[-1].append(step)
        if end == "; ":
            parts.append([])
    return [part for part in parts if not any(map(_OF_LINUX.search, part))]


def _with_parts(command: str) -> str:
    for pattern, form in _PARTS:
        command = re.sub(pattern, lambda found, form=form: found.expand(form), command)  # type: ignore[misc]
    command = re.sub(_IN_TOOLKIT, _in_toolkit, command)
    return re.sub(_GREP_IN_FILE, _findstr_in_file, re.sub(_GREP, _findstr, command))


def _in_toolkit(found: re.Match[str]) -> str:
    folder = rf"{_TOOLKITS}\v{found['release']}" if found["release"] else "%CUDA_PATH%"
    file = found["file"].replace("/lib64", "/lib/x64").replace("/nvcc", "/nvcc.exe").replace("/", "\\")
    path = f"{folder}{file}{';%PATH%' * bool(found['path'])}"
    return f"{found['name']}{path}" if found["name"] else f'"{path}"'


def _findstr_in_file(found: re.Match[str]) -> str:
    words = " ".join(f'/c:"{word}"' for word in found["words"].split("|"))
    return f"findstr /n {words} {found['file']}"


def _findstr(found: re.Match[str]) -> str:
    # Words with blanks between are alternatives.
    words = found["words"].replace("|", " ")
    return f'findstr /s /n "{words}" setup.py CMakeLists.txt *.cmake'


def _step(command: str) -> str:
    for pattern, form in _COMMANDS:
        found = pattern.fullmatch(command)
        if found is not None:
            return form(found)
    return command


def _set(found: re.Match[str]) -> str:
    values = re.findall(_ASSIGNMENT, found["names"])
    return " && ".join(f'set "{name}={quoted or plain}"' for name, quoted, plain in values)


def _remove(found: re.Match[str]) -> str:
    removed = [_REMOVED.get(name) for name in re.findall(r'"[^"]*"|\S+', found["names"])]
    return " & ".join(filter(None, removed)) if None not in removed else found[0]


_COMMANDS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (_EXPORT, _set),
    (_FOR_COMMAND, lambda found: f"{_set(found)} && {found['command']}"),
    (_UNSET, lambda found: " && ".join(f'set "{name}="' for name in found["names"].split(" "))),
    (_ECHO, lambda found: re.sub(r'"?\$([A-Z\d_]+)"?', r"%\1%", found[0])),
    (_REMOVE, _remove),
)
