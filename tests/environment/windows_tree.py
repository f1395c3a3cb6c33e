"""Environments for Windows as CPython's installer and its venv lay them out, made of fixtures."""

from __future__ import annotations

import shutil
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures/windows"


def make_installation(prefix: Path) -> Path:
    """Put `python.exe`, `python311.dll` and an empty site-packages below a prefix; returns site-packages."""
    site = prefix / "Lib/site-packages"
    site.mkdir(parents=True)
    shutil.copy(FIXTURES / "i386.dll", prefix / "python.exe")
    shutil.copy(FIXTURES / "i386.dll", prefix / "python311.dll")
    return site


def make_venv(prefix: Path, home: str) -> Path:
    """Make a virtual environment of CPython 3.12 whose base is at `home`; returns site-packages."""
    site = prefix / "Lib/site-packages"
    site.mkdir(parents=True)
    (prefix / "Scripts").mkdir()
    shutil.copy(FIXTURES / "i386.dll", prefix / "Scripts/python.exe")
    (prefix / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\nversion = 3.12.1\n")
    return site


def install_torch(site: Path) -> Path:
    """Install torch 2.8.0 with CUDA; returns its directory."""
    torch = site / "torch"
    shutil.copytree(FIXTURES / "torch", torch)
    (torch / "__init__.py").touch()
    (torch / "version.py").write_text("__version__ = '2.8.0+cu128'\ncuda: str = '12.8'\nhip = None\n")
    (site / "torch-2.8.0+cu128.dist-info").mkdir()
    return torch
