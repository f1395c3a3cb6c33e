"""Limits on the size and work of every input. `tools/limits.toml` describes them for SECURITY.md.

Input that exceeds a limit is reported as unread or undecided, with the limit. Nothing is truncated silently.
"""

from __future__ import annotations

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
