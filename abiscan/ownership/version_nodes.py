"""Libraries by the names of their symbol versions: `LIBFFI_BASE_7.0` belongs to libffi.

Sources: the version scripts of each project (`libffi.map.in`, `libavutil.v`, `libjpeg.map.in`, ...), as
`readelf -V` shows them in the packages of Debian 12 and of conda-forge.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class VersionedLibrary(Struct, frozen=True):
    """A library that versions its symbols.

    Attributes:
        file: its name up to `.so`.
        product: its name in prose.
        conda: its package on conda-forge; empty if there is none.
    """

    file: str
    product: str
    conda: str = ""


_LIBRARIES: Final = {
    "LIBFFI_": VersionedLibrary("libffi", "libffi", "libffi"),
    "LIBJPEGTURBO_": VersionedLibrary("libjpeg", "libjpeg-turbo", "libjpeg-turbo"),
    "LIBJPEG_": VersionedLibrary("libjpeg", "libjpeg (libjpeg-turbo)", "libjpeg-turbo"),
    "TURBOJPEG_": VersionedLibrary("libturbojpeg", "libjpeg-turbo", "libjpeg-turbo"),
    "PNG16_": VersionedLibrary("libpng16", "libpng", "libpng"),
    "LIBTIFF_": VersionedLibrary("libtiff", "libtiff", "libtiff"),
    "ROCR_": VersionedLibrary("libhsa-runtime64", "the HSA runtime of ROCm"),
    "hip_": VersionedLibrary("libamdhip64", "the HIP runtime of ROCm"),
    "rocblas": VersionedLibrary("librocblas", "rocBLAS"),
    "OPENSSL_": VersionedLibrary("libssl", "OpenSSL (libssl, libcrypto)", "openssl"),
    "LIBAVUTIL_": VersionedLibrary("libavutil", "FFmpeg", "ffmpeg"),
    "LIBAVCODEC_": VersionedLibrary("libavcodec", "FFmpeg", "ffmpeg"),
    "LIBAVFORMAT_": VersionedLibrary("libavformat", "FFmpeg", "ffmpeg"),
    "LIBAVFILTER_": VersionedLibrary("libavfilter", "FFmpeg", "ffmpeg"),
    "LIBAVDEVICE_": VersionedLibrary("libavdevice", "FFmpeg", "ffmpeg"),
    "LIBSWSCALE_": VersionedLibrary("libswscale", "FFmpeg", "ffmpeg"),
    "LIBSWRESAMPLE_": VersionedLibrary("libswresample", "FFmpeg", "ffmpeg"),
    "CURL_": VersionedLibrary("libcurl", "libcurl", "libcurl"),
    "LIBXML2_": VersionedLibrary("libxml2", "libxml2", "libxml2"),
    "ZLIB_": VersionedLibrary("libz", "zlib", "zlib"),
    "XZ_": VersionedLibrary("liblzma", "liblzma", "liblzma"),
    "IBVERBS_": VersionedLibrary("libibverbs", "libibverbs (rdma-core)", "rdma-core"),
    "MLX5_": VersionedLibrary("libmlx5", "libmlx5 (rdma-core)", "rdma-core"),
    "RDMACM_": VersionedLibrary("librdmacm", "librdmacm (rdma-core)", "rdma-core"),
    "EFA_": VersionedLibrary("libefa", "libefa (rdma-core)", "rdma-core"),
    "FABRIC_": VersionedLibrary("libfabric", "libfabric", "libfabric"),
    "libnuma_": VersionedLibrary("libnuma", "libnuma", "libnuma"),
    "UUID_": VersionedLibrary("libuuid", "libuuid", "libuuid"),
    "NCURSES6_": VersionedLibrary("libncurses", "ncurses", "ncurses"),
    "NCURSESW6_": VersionedLibrary("libncursesw", "ncurses", "ncurses"),
    "KRB5_": VersionedLibrary("libkrb5", "Kerberos", "krb5"),
    "gssapi_krb5_": VersionedLibrary("libgssapi_krb5", "Kerberos", "krb5"),
    "Qt_5": VersionedLibrary("libQt5Core", "Qt 5", "qt"),
    "Qt_6": VersionedLibrary("libQt6Core", "Qt 6", "qt6-main"),
    "GLIB_": VersionedLibrary("libglib-2.0", "GLib", "glib"),
    "GOMP_": VersionedLibrary("libgomp", "GCC's OpenMP runtime", "libgomp"),
    "OMP_": VersionedLibrary("libgomp", "an OpenMP runtime", "libgomp"),
    "OMPI_": VersionedLibrary("libmpi", "Open MPI", "openmpi"),
    "LLVM_": VersionedLibrary("libLLVM", "LLVM"),
    "HDF5_": VersionedLibrary("libhdf5", "HDF5", "hdf5"),
    "UCX_": VersionedLibrary("libucp", "UCX", "ucx"),
}


def library_of_version(version: str) -> VersionedLibrary | None:
    """Find the library that defines a symbol version; None if it is not in the table."""
    return next((library for prefix, library in _LIBRARIES.items() if version.startswith(prefix)), None)
