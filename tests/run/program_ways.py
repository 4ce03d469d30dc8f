"""The same small programs, built in the ways programs come."""

import os
import shutil
from pathlib import Path
from typing import ClassVar

import pytest
from ran import ran

ROOT = Path(__file__).parents[2]
SOURCES = Path(__file__).parent / "programs"


class Programs:
    """Builds the sources of `programs/` in the ways programs come, each once."""

    COMPILERS: ClassVar = {
        "dynamic": ["gcc"],
        "preloaded": ["gcc", "-shared", "-fPIC"],
        "static": ["gcc", "-static"],
        "static-pie": ["gcc", "-static-pie"],
        "asan": ["gcc", "-fsanitize=address"],
        "tsan": ["gcc", "-fsanitize=thread"],
        "musl": ["musl-gcc"],
        "musl-static": ["musl-gcc", "-static"],
        "32-bit": ["gcc", "-m32", "-nostdlib", "-static"],
        "go": ["go", "build"],
        "go-stripped": ["go", "build", "-ldflags=-s -w -buildid="],
        "rust-static": ["rustc", "-Ctarget-feature=+crt-static"],
        "rust": ["rustc"],
    }

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def build(self, way: str, source: str) -> Path:
        """The program; a skip when its compiler is not installed."""
        built = self.directory / f"{source.replace('.', '-')}-{way}"
        if built.exists():
            return built
        command = self.COMPILERS[way]
        listed = (ROOT / "packaging/debian-packages.txt").read_text()
        if shutil.which(command[0]) is None:
            wanted = {"go": "golang-go", "musl-gcc": "musl-tools"}.get(command[0], command[0])
            assert wanted not in listed, f"{command[0]} is not installed: packaging/install.sh test"
            pytest.skip(f"{command[0]} is not installed, and not in the list of packages")
        environment = {**os.environ, "GOCACHE": str(ROOT / "build" / "go"), "GO111MODULE": "off"}
        arguments = ["-pthread"] if command[0].endswith("gcc") and "-nostdlib" not in command else []
        ran([*command, *arguments, "-o", built, SOURCES / source], env=environment)
        return built
