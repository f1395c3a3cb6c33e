"""Limits on the size and work of every input, in one table. `tools/generate.py` writes it into SECURITY.md.

Input that exceeds a limit is reported as unread or undecided, with the limit. Nothing is truncated silently.
"""

from __future__ import annotations

from msgspec import Struct

MIB, GIB = 1 << 20, 1 << 30

# --- shared objects -----------------------------------------------------------------------------------------------

# A real shared object has about ten; the header allows 65,535, and each is read and kept.
MAX_SEGMENTS = 4096
# libtorch_cuda's dynamic section has about 60 entries.
MAX_DYNAMIC_ENTRIES = 1 << 16
# libtorch_cuda needs 26 libraries.
MAX_NEEDED = 4096
# Longest string taken from a string table, in bytes. The longest mangled name seen in torch has 15 KiB.
MAX_STRING = MIB
# Bytes of the names that are looked up for one file; the exports of libtorch_cpu have 6 MiB.
MAX_NAMES = 128 * MIB
# A real file has some dozens of version records (libc.so.6: 40).
MAX_VERSIONS = 1 << 15
# Hash chain entries that the lookups in one file may visit, without those of short chains.
MAX_CHAIN_STEPS = 1 << 22
# Addresses in DT_RELR; libtorch_cpu has some 300,000 relative relocations.
MAX_PACKED_RELOCATIONS = 1 << 22
# Words that relocations write to a table of functions. The largest library has a table of 7,000, each written once.
MAX_WRITTEN_WORDS = 1 << 19

# Imports of a PE or Mach-O file; torch_python.dll has some 6,000.
MAX_IMPORTS = 1 << 20
# Exports of a PE or Mach-O file; torch_cpu.dll has some 60,000.
MAX_EXPORTS = 1 << 20

# GPU images; libtorch_cuda has some 20,000.
MAX_DEVICE_IMAGES = 1 << 20
# GPU images that are left out when a member of an archive is unpacked; further ones are unpacked.
MAX_LEFT_OUT = 1 << 15

# Larger files are mapped instead of read. Truncating a mapped file kills the reading process (SIGBUS), so another
# process than that of the command maps it.
MAX_COPIED = 64 * MIB

# Bytes of code that are searched for calls of imports, at some 200 MiB a second; bytes of debug information.
MAX_CODE = 256 * MIB
# Sites of each import, the first in address order.
MAX_SITES = 100
MAX_DEBUG = 96 * MIB
# Bytes of read-only data that are searched for assertion texts; libtorch_cpu.so has 7 MiB.
MAX_STRING_DATA = 16 * MIB

# Cached lookups of names in a process; the files of a run share most names.
KEPT_NAMES = 1 << 15

# --- archives and directories (abiscan.inputs.Limits has their reasons) -----------------------------------------

MAX_MEMBERS = 65_535
MAX_FILES = 1_000_000
MAX_MEMBER_SIZE = 4 * GIB
# Larger members are unpacked to a temporary file without their GPU images, up to MAX_ON_DISK for each archive.
MIN_ON_DISK = MIB
MAX_ON_DISK = GIB
# Without disk space, members up to this size are unpacked to memory. It may have to hold two of them (a file and a
# library that it needs) and the small tables of earlier ones.
MAX_IN_MEMORY = 64 * MIB
MAX_TABLES_IN_MEMORY = 64 * MIB
MAX_UNPACKED = 32 * GIB
MAX_RATIO = 100
MAX_ARCHIVE_DEPTH = 3
# METADATA of scipy has 62 KB with 1,005 header lines, including its license; fsspec has 103 requirements.
MAX_METADATA = 4 * MIB
MAX_HEADER_LINES = 1 << 16
MAX_REQUIREMENTS = 8192
# Characters of a field: requirement, name, version or tag. The longest requirement seen has 124.
MAX_FIELD = 8192
# Parentheses in a requirement, and digits of a number in one. At most 1 and 4 were seen.
MAX_PARENTHESES = 32
MAX_DIGITS = 64
# Comparisons of versions and markers in all requirements on torch together; each is made with every torch release.
MAX_COMPARISONS = 1024
# Tag triples in a file name or in a line of a WHEEL file; `manylinux1.manylinux2014` stands for two.
MAX_TAGS = 1024
# RECORD; that of torch has 1.4 MiB.
MAX_RECORD = 64 * MIB
# The .json beside a compiled model.
MAX_COMPANION = 16 * MIB
# PATH_MAX of Linux: a file with a longer name cannot be installed.
MAX_MEMBER_NAME = 4096
# Names of all members together; those of torch have 1 MiB.
MAX_MEMBER_NAMES = 32 * MIB
# Directory lookups to follow the links in an archive.
MAX_LINK_STEPS = 1 << 20
# A compressed archive in an archive is unpacked to memory.
MAX_NESTED_ARCHIVE = GIB

# --- servers ------------------------------------------------------------------------------------------------------

# A file from a server without range requests; the largest torch wheels have 3 GiB with their libraries.
MAX_WHOLE_REMOTE = 8 * GIB
# A page of a package index; the project list of the largest public index has 40 MiB.
MAX_INDEX_PAGE = 256 * MIB
# Seconds of one request; MAX_WHOLE_REMOTE at 10 MB a second takes 14 minutes.
MAX_REQUEST_SECONDS = 3600
# Minimum rate of an answer in bytes a second, over each MIN_RATE_SECONDS; a 56 kbit/s modem has 7,000.
MIN_RATE = 1000
MIN_RATE_SECONDS = 60
# Seconds of one run of pip, which limits only the silence between two chunks.
MAX_PIP_SECONDS = 3600
# pip buffers up to 256 KiB before it writes, so a shorter time could not measure MIN_RATE.
PIP_RATE_SECONDS = 300

# --- texts --------------------------------------------------------------------------------------------------------

# Logs, lists of targets and baselines.
MAX_TEXT_FILE = 64 * MIB
# Characters of a configuration, and parts of a key (`tool.abiscan` has two).
MAX_CONFIGURATION = MIB
MAX_KEY_PARTS = 32
# Characters of a pattern there: of a path, or of a mangled name.
MAX_PATTERN = 4096
# Seconds without data from a pipe given to `-r`; `-r <(command)` waits for a slow command.
MAX_PIPE_SILENCE = 600
# Lines of a list of inputs (`-r`).
MAX_LISTED = 1 << 16
# Bytes of a source file; source files of one tree.
MAX_SOURCE_SIZE = 16 * MIB
MAX_SOURCE_FILES = 50_000
# Tokens of a source file that a rule concerns; characters of an included file.
MAX_SOURCE_TOKENS = 4 * MIB
# Places in one source file that rules match; distinct findings there, apart from the line.
MAX_SOURCE_PLACES = 200_000
MAX_SOURCE_FINDINGS = 2_000
# Steps (about a microsecond each) that the check of a source file may take beyond its tokens: one for each so many
# characters of it and its includes, plus a constant. Real sources take up to 130,000.
SOURCE_CHARACTERS_PER_STEP = 2
MIN_SOURCE_STEPS = 300_000
# Tokens of a generated Python module; each takes up to 750 bytes when parsed.
MAX_KERNEL_TOKENS = 200_000
# Bytes of the report of an earlier run (30 wheels: 17 MiB); number of earlier runs on a page, the newest ones.
MAX_EARLIER_REPORT = 256 * MIB
MAX_EARLIER_RUNS = 60


class Limit(Struct, frozen=True):
    """A row of the table.

    Attributes:
        of: the limited quantity.
        value: the limit, in `unit`.
        beyond: what is reported if it is exceeded.
    """

    of: str
    value: int
    unit: str
    beyond: str


LIMITS = (
    Limit("program headers or sections that a loader maps", MAX_SEGMENTS, "", "unreadable"),
    Limit("entries of a dynamic section", MAX_DYNAMIC_ENTRIES, "", "unreadable"),
    Limit("needed libraries of a file", MAX_NEEDED, "", "unreadable"),
    Limit("a name in a string table", MAX_STRING, "bytes", "unreadable"),
    Limit("all names that the relocations of a file look up", MAX_NAMES, "bytes", "unreadable"),
    Limit("symbol versions that a file requires or defines", MAX_VERSIONS, "", "unreadable"),
    Limit("entries of long hash chains read in one file", MAX_CHAIN_STEPS, "", "unreadable"),
    Limit("packed relocations (DT_RELR)", MAX_PACKED_RELOCATIONS, "", "unreadable"),
    Limit("words that relocations write to a table of functions", MAX_WRITTEN_WORDS, "", "undecided"),
    Limit("imports of a PE or Mach-O file", MAX_IMPORTS, "", "unreadable"),
    Limit("exports of a PE or Mach-O file", MAX_EXPORTS, "", "unreadable"),
    Limit("device images of a section", MAX_DEVICE_IMAGES, "", "the first are reported, and that there are more"),
    Limit("code searched for call sites", MAX_CODE, "bytes", "findings without call sites"),
    Limit("debug information read for lines", MAX_DEBUG, "bytes", "call sites without lines"),
    Limit(
        "read-only data searched for texts",
        MAX_STRING_DATA,
        "bytes",
        "the rest is not searched for evidence and operators",
    ),
    Limit("a file that is read and not mapped", MAX_COPIED, "bytes", "mapped"),
    Limit("members of an archive", MAX_MEMBERS, "", "unreadable"),
    Limit("files below a directory", MAX_FILES, "", "an error; what came before is reported"),
    Limit("an unpacked member", MAX_MEMBER_SIZE, "bytes", "an error"),
    Limit("an unpacked member that is held in memory", MIN_ON_DISK, "bytes", "a temporary file"),
    Limit("the same, if the disk is full", MAX_IN_MEMORY, "bytes", "an error"),
    Limit("members of an archive that are kept on the disk", MAX_ON_DISK, "bytes", "one at a time"),
    Limit("all unpacked members of an archive", MAX_UNPACKED, "bytes", "an error"),
    Limit("compression ratio of a large member or stream", MAX_RATIO, "bytes", "an error"),
    Limit("nested archives, including the outermost", MAX_ARCHIVE_DEPTH, "", "an error"),
    Limit("the name of a member", MAX_MEMBER_NAME, "bytes", "an error"),
    Limit("the names of all members of an archive", MAX_MEMBER_NAMES, "bytes", "unreadable"),
    Limit("folders looked up to follow the links of an archive", MAX_LINK_STEPS, "", "an error"),
    Limit("METADATA, WHEEL, PKG-INFO, index.json or direct_url.json", MAX_METADATA, "bytes", "an error"),
    Limit("RECORD of an installed package", MAX_RECORD, "bytes", "an error"),
    Limit("the .json file beside a compiled model", MAX_COMPANION, "bytes", "an error"),
    Limit("lines of the header of METADATA or WHEEL", MAX_HEADER_LINES, "", "an error"),
    Limit("requirements of a package", MAX_REQUIREMENTS, "", "an error"),
    Limit("a requirement, a name, a version or a tag in METADATA or WHEEL", MAX_FIELD, "characters", "an error"),
    Limit("nested parentheses in a requirement", MAX_PARENTHESES, "", "an error"),
    Limit("digits of a number in a requirement, version or tag", MAX_DIGITS, "", "an error"),
    Limit("comparisons in all torch requirements of a package", MAX_COMPARISONS, "", "an error"),
    Limit("compatibility tags that a file name or a line of WHEEL expands to", MAX_TAGS, "", "an error"),
    Limit("a compressed archive inside of another", MAX_NESTED_ARCHIVE, "bytes", "an error"),
    Limit("a file that is read whole from a server", MAX_WHOLE_REMOTE, "bytes", "an error"),
    Limit("a page of a package index", MAX_INDEX_PAGE, "bytes", "an error"),
    Limit("one request to a server", MAX_REQUEST_SECONDS, "s", "an error"),
    Limit(f"minimum bytes per second from a server, over {MIN_RATE_SECONDS} s", MIN_RATE, "", "an error"),
    Limit("one run of pip", MAX_PIP_SECONDS, "s", "an error"),
    Limit(f"minimum bytes per second that pip fetches, over {PIP_RATE_SECONDS} s", MIN_RATE, "", "an error"),
    Limit("a source file", MAX_SOURCE_SIZE, "bytes", "an error"),
    Limit("tokens of a source file that rules read", MAX_SOURCE_TOKENS, "", "an error"),
    Limit("places of a source file that rules match", MAX_SOURCE_PLACES, "", "an error"),
    Limit("findings in one source file", MAX_SOURCE_FINDINGS, "", "an error"),
    Limit(
        f"matching steps per source file, plus one per {SOURCE_CHARACTERS_PER_STEP} characters",
        MIN_SOURCE_STEPS,
        "",
        "an error",
    ),
    Limit("words and marks of a generated Python module", MAX_KERNEL_TOKENS, "", "an error"),
    Limit("source files of one tree", MAX_SOURCE_FILES, "", "an error; what came before is reported"),
    Limit("a log, a list of targets, a baseline", MAX_TEXT_FILE, "bytes", "a usage error"),
    Limit("a configuration", MAX_CONFIGURATION, "characters", "a usage error"),
    Limit("a pattern in a configuration", MAX_PATTERN, "characters", "a usage error"),
    Limit("parts of a key in a configuration", MAX_KEY_PARTS, "", "a usage error"),
    Limit("wait for input from a pipe given with `-r`", MAX_PIPE_SILENCE, "s", "a usage error"),
    Limit("inputs in a list (`-r`)", MAX_LISTED, "", "a usage error"),
    Limit("a line of such a list", MAX_FIELD, "characters", "a usage error"),
    Limit("the report of an earlier run (`--history`)", MAX_EARLIER_REPORT, "bytes", "a usage error"),
    Limit("earlier runs that a page shows", MAX_EARLIER_RUNS, "", "left out, the oldest first"),
)
