"""What tests of several parts stand on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, without a screen."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Debian's chromium is not installed")
    switches = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    switches += ["--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=switches)
        yield browser
        browser.close()
