"""The tests that fsspec has for every file system: to copy, get, put, open and pipe."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.tests import abstract


class OverASet(abstract.AbstractFixtures):  # type: ignore[misc]  # fsspec has no types
    @pytest.fixture
    def fs(self, described: Callable[..., list[Path]]) -> Any:
        described("scratch")
        fsspec.get_filesystem_class("ses").clear_instance_cache()
        return fsspec.filesystem("ses")

    @pytest.fixture
    def fs_path(self) -> str:
        return "scratch/tests"


@pytest.mark.long
class TestCopy(OverASet, abstract.AbstractCopyTests):  # type: ignore[misc]
    pass


@pytest.mark.long
class TestGet(OverASet, abstract.AbstractGetTests):  # type: ignore[misc]
    pass


@pytest.mark.long
class TestPut(OverASet, abstract.AbstractPutTests):  # type: ignore[misc]
    pass


class TestOpen(OverASet, abstract.AbstractOpenTests):  # type: ignore[misc]
    pass


class TestPipe(OverASet, abstract.AbstractPipeTests):  # type: ignore[misc]
    pass
