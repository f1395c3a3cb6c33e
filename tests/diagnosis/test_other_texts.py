"""Texts that are not about loading a torch extension: the result is "not known", or a correct answer.

Some messages are from public threads about other programs, shortened to program output; others, and the sentences, are
written in the same form. The correct answer follows from the message: the owner of a name, a missing library."""

from __future__ import annotations

import pytest

from abiscan.diagnosis import Knowledge, explain
from abiscan.model.cause import CauseId

NOTHING_KNOWN = (
    "\u201cundefined reference to vtable\u201d seems to be a common problem with Qt\u2019s meta-object system.",
    "Traceback (most recent call last):\n  File \"app.py\", line 3\nModuleNotFoundError: No module named 'requests'",
    "    print(total)\nNameError: name 'total' is not defined",
    "RuntimeError: Cannot access data pointer of Tensor that doesn't have storage",
    "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
    "KeyError: 'state_dict'",
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 7.79 GiB total capacity)",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "RuntimeError: CUDA error: device-side assert triggered",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "AttributeError: module 'numpy' has no attribute 'float'.",
    # Inductor's names in a program of the user: only modules that it wrote, itself and Triton are its own.
    'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    f(s2)\n'
    "NameError: name 's2' is not defined",
    '  File "/torch/_dynamo/eval_frame.py", line 9, in _fn\n  File "train.py", line 3, in f\n    g(_grid_2)\n'
    "NameError: name '_grid_2' is not defined",
    "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/train/labels.csv'",
    "OSError: [Errno 28] No space left on device",
    "ConnectionRefusedError: [Errno 111] Connection refused",
    "Uncaught ReferenceError: foo is not defined\n    at index.html:12",
    "error[E0433]: failed to resolve: use of undeclared crate or module `serde`",
    "main.go:12:2: undefined: http.ListenAndServeTLSX",
    'Exception in thread "main" java.lang.NoClassDefFoundError: org/apache/log4j/Logger',
    "java.lang.UnsatisfiedLinkError: no jnitorch in java.library.path",
    "a.cpp:5:3: error: 'cout' was not declared in this scope",
    "fatal error: opencv2/opencv.hpp: No such file or directory",
    "bash: ./configure: /bin/sh^M: bad interpreter: No such file or directory",
    "ERROR: Could not find a version that satisfies the requirement torch==1.99 (from versions: 2.0.0, 2.0.1)",
    'psql: FATAL: database "app" does not exist',
    'SQLSTATE[42P01]: Undefined table: relation "users" does not exist',
    "jinja2.exceptions.UndefinedError: 'dict object' has no attribute 'name'",
    "make: *** No rule to make target 'all'.  Stop.",
    "TypeError: Cannot read properties of undefined (reading 'map')",
    "Could not run 'npm install' with arguments from the 'package.json'",
    "[W NNPACK.cpp:64] Could not initialize NNPACK! Reason: Unsupported hardware.",
    "Segmentation fault (core dumped)",
    "\u7a0b\u5e8f\u8fd0\u884c\u65f6\u62a5\u9519\uff1a\u6587\u4ef6\u4e0d\u5b58\u5728\uff0c\u8bf7\u68c0\u67e5\u8def\u5f84\u3002",
    "\u6a21\u578b\u8bad\u7ec3\u65f6 loss \u4e00\u76f4\u4e0d\u4e0b\u964d\uff0c\u662f\u4ec0\u4e48\u539f\u56e0\uff1f",
    "\u8bf7\u95ee\u5982\u4f55\u5728 Ubuntu \u4e0a\u5b89\u88c5 CUDA 12.1 \u548c PyTorch 2.1\uff1f",
    "How do I choose the learning rate for AdamW when fine-tuning a 7B model on two GPUs?",
    "PyTorch 2.6 is faster than 2.1 in our benchmark; the driver version is 550 and the CUDA toolkit 12.4.",
    "The invalid device function of our irrigation pump was replaced by a technician.",
    "The named symbol not found in this poem is the sea.",
    "GLIBCXX is the name of the version symbols of libstdc++.",
    # Messages of NumPy, OpenCV, JAX, SciPy, pandas, Node.js, compilers, shells, and prose.
    "cv2.error: OpenCV(4.8.0) color.cpp:182: error: (-215:Assertion failed) !_src.empty() in function 'cvtColor'",
    "XlaRuntimeError: FAILED_PRECONDITION: DNN library initialization failed.",
    "RuntimeError: jaxlib version 0.4.20 is newer than and incompatible with jax version 0.4.13.",
    "AttributeError: module 'jax' has no attribute 'tree_map'",
    "AttributeError: module 'numpy' has no attribute 'bool'",
    "AttributeError: module 'torch' has no attribute 'foo'",
    "ImportError: cannot import name 'triu' from 'scipy.linalg' (/x/scipy/linalg/__init__.py)",
    "ImportError: cannot import name 'Mapping' from 'collections'",
    "pandas.errors.ParserError: Error tokenizing data. C error: Expected 3 fields in line 5, saw 4",
    "NameError: name 'use_cuda' is not defined",
    "    x = file_ext.lower()\nNameError: name 'file_ext' is not defined",
    "ModuleNotFoundError: No module named 'my_extension'",
    "Error: The module 'bcrypt.node'\nwas compiled against a different Node.js version using NODE_MODULE_VERSION 83.",
    "Error: Cannot find module 'express'",
    "fatal error: 'stdio.h' file not found",
    "a.c:1:10: fatal error: custom/cuda_wrapper.h: No such file or directory",
    "a.cpp:3: error: 'class std::vector<int>' has no member named 'push'",
    "a.cpp:3: error: 'optional' is not a member of 'std'",
    "a.cpp:3: error: no member named 'foo' in namespace 'std'",
    'a.cu(3): error: class "Foo" has no member "bar"',
    "bash: /usr/bin/foo: Permission denied",
    "cat: /x/lib.so: Permission denied",
    "Could not locate the file data.csv",
    "Extension x has not been built yet, please run make.",
    "This feature requires cuda extensions to be installed by an administrator.",
    "The Python version mismatch was reported.",
    "The Model T only supports Ford parts or newer.",
    "user has no member 'x' of group 'torch'",
    "The torch is not linked with support for handles.",
    "WARNING: Could not load library foo",
    "ImportError: libfoo: please install libfoo-dev: see README",
    "sqlite3.OperationalError: no such module: fts5",
    "cp: cannot open '/etc/shadow' for reading: Permission denied",
    "OSError: [WinError 5] Access is denied",
    "CUDA_VISIBLE_DEVICES",
    "How does cudaMalloc differ from cudaMallocManaged?",
)

_LINK = CauseId.LIBRARY_NOT_LINKED
ANSWERED = (
    # A plugin of another program misses a function of that program or of a library.
    (
        "node: symbol lookup error: /srv/app/build/Release/node-gtk.node: undefined symbol: g_irepository_get_default",
        _LINK,
    ),
    ("httpd: Cannot load /usr/lib/mod_passenger.so: /usr/lib/mod_passenger.so: undefined symbol: ap_get_server", _LINK),
    ("/opt/augur/augur: symbol lookup error: /opt/augur/augur: undefined symbol: udata_setCommonData_59", _LINK),
    ("php: symbol lookup error: ./php-gtk3.so: undefined symbol: gtk_init", _LINK),
    (
        "/srv/node_modules/mysql_bindings.node: undefined symbol: ev_rt_now\n    at Object..node (module.js:435:11)",
        _LINK,
    ),
    # Functions of the C library that are in separate libraries.
    ("main.c:(.text+0x14): undefined reference to `sqrt'\ncollect2: error: ld returned 1 exit status", _LINK),
    ("main.c:(.text+0x14): undefined reference to `powf'", _LINK),
    ("undefined reference to `pthread_create'", _LINK),
    # Qt's moc did not generate the class's functions.
    ("undefined reference to `vtable for MyWidget'", CauseId.EXTENSION_SOURCE_NOT_BUILT),
    ("error: libopencv_ocl.so.2.4: cannot open shared object file: No such file or directory", CauseId.LIBRARY_MISSING),
    ("/usr/bin/ld: cannot find -lboost_system: No such file or directory", CauseId.LIBRARY_MISSING),
    ("ld: library not found for -lSystem", CauseId.LIBRARY_MISSING),
    ("LINK : fatal error LNK1104: cannot open file 'kernel32.lib'", CauseId.LIBRARY_MISSING),
    ("/usr/bin/ld: cannot find -lpq: No such file or directory", CauseId.LIBRARY_MISSING),
    (
        "The code cannot proceed because a.dll was not found. Reinstalling the program may help.",
        CauseId.LIBRARY_MISSING,
    ),
    (
        "ffmpeg: error while loading shared libraries: libavdevice.so.58: cannot open shared object file",
        CauseId.LIBRARY_MISSING,
    ),
    ("/jna.so: /lib/libc.so.6: version `GLIBC_2.34' not found (required by /jna.so)", CauseId.GLIBC_TOO_OLD),
    ("[WinError 1455] The paging file is too small for this operation to complete", CauseId.UNUSABLE_FILE),
    ("error loading plugin: dlopen(libfoo.dylib): (slice is not valid mach-o file)", CauseId.UNUSABLE_FILE),
    (
        "Could not load dynamic library 'libcudart.so.10.1'; libcudart.so.10.1: cannot open shared object file",
        CauseId.CUDA_LIBRARY_MISMATCH,
    ),
    ("dyld: Library not loaded: /usr/local/opt/icu4c/lib/libicui18n.66.dylib", CauseId.LIBRARY_MISSING),
    # Of any build or Python with compiled modules, of torch or not.
    ("ModuleNotFoundError: No module named 'torch'", CauseId.LIBRARY_MISSING),
    ("ModuleNotFoundError: No module named 'triton'", CauseId.LIBRARY_MISSING),
    ("error: command 'gcc' failed with exit status 1", CauseId.EXTENSION_SOURCE_NOT_BUILT),
    ("ImportError: numpy.core.multiarray failed to import", CauseId.LIBRARY_VERSION_MISMATCH),
    (
        "RuntimeError: module compiled against API version 0x10 but this version of numpy is 0xf",
        CauseId.LIBRARY_VERSION_MISMATCH,
    ),
    (
        "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.2 as it may crash.",
        CauseId.LIBRARY_VERSION_MISMATCH,
    ),
    (
        "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88",
        CauseId.LIBRARY_VERSION_MISMATCH,
    ),
)


def test_the_end_of_a_failed_build_tells_less_than_any_other_message(nothing: Knowledge) -> None:
    lines = ("error: subprocess-exited-with-error", "No module named 'torch'", "ERROR: Failed building wheel for a")
    assert [subject.message for subject in explain("\n".join(lines), nothing)] == ["no-torch-module"]


@pytest.mark.parametrize("text", NOTHING_KNOWN)
def test_nothing_is_known_of_it(text: str, nothing: Knowledge) -> None:
    assert explain(text, nothing) == ()


@pytest.mark.parametrize(("text", "right"), ANSWERED)
def test_what_is_right_of_it_comes_first(text: str, right: CauseId, nothing: Knowledge) -> None:
    (subject,) = explain(text, nothing)
    assert subject.causes[0].cause is right


def test_a_function_of_the_c_library_is_named_as_such(nothing: Knowledge) -> None:
    (subject,) = explain("undefined reference to `sqrt'", nothing)
    assert "libm" in subject.causes[0].evidence[0]
    assert "-lm" in subject.causes[0].fix
