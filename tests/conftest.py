"""What tests of several parts stand on."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
import structlog
from playwright.sync_api import Browser, expect, sync_playwright

if TYPE_CHECKING:
    from types import FrameType

    from traces import Traces
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

sys.path.append(str(Path(__file__).parent))

# No promise is about time: a generated case may take as long as a busy machine needs.  Every run tries the
# same cases, so that what fails is what was changed; for others: --hypothesis-profile=searching.
_unhurried = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("repeating", derandomize=True, **_unhurried)
hypothesis.settings.register_profile("searching", derandomize=False, print_blob=True, **_unhurried)
hypothesis.settings.load_profile("repeating")


# A logger that is kept from its first use on would pass by what captures its lines in a later test.
_configure = structlog.configure
structlog.configure = lambda **settings: _configure(**{**settings, "cache_logger_on_first_use": False})

_own_directory = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-times", action="store_true", help="write into tests/times.txt how long each file took"
    )


def _end_of(run: int) -> Callable[[int, FrameType | None], None]:
    """Return what ends a run as Ctrl-C does; processes that a test forks end at once, as ever."""

    def end(number: int, frame: FrameType | None) -> None:
        if os.getpid() == run:
            signal.signal(number, signal.SIG_IGN)  # timeout(1) sends it twice
            signal.default_int_handler(number, frame)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    return end


def pytest_configure(config: pytest.Config) -> None:
    """Each run keeps its files in a directory of its own: below the one that pytest shares between runs, the
    next run to start would close the way to other users, whom some tests need.

    A shell starts what runs in its background with SIGINT and SIGQUIT ignored, nohup with SIGHUP, and
    programs inherit that: those that tests start are to be as people start them.

    A run that is ended by SIGTERM, as by timeout(1), undoes what its tests have mounted and started.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.signal(signal.SIGTERM, _end_of(os.getpid()))
    if config.option.record_times:
        from distribution import Meter, Recorder

        config.pluginmanager.register(Meter())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Recorder())
    if config.option.basetemp is None:  # workers are told theirs
        config.option.basetemp = tempfile.mkdtemp(prefix="qstorman-tests-")
        config.stash[_own_directory] = Path(config.option.basetemp)


def pytest_report_header(config: pytest.Config) -> list[str]:
    directory = config.stash.get(_own_directory, None)
    return [f"files: {directory} (kept when a test fails)"] if directory else []


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    directory = session.config.stash.get(_own_directory, None)
    mounted = f" {directory}/" in Path("/proc/self/mounts").read_text()
    if directory and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not mounted:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Whatever is made while tests are collected stays: looking for garbage took a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    from distribution import in_order

    items[:] = in_order(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    from distribution import Distribution

    return Distribution(config, log)


expect.set_options(timeout=60_000)  # ms; a browser beside other tests takes its time


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium without a user interface of its own, which costs as much as the pages."""
    program = shutil.which("chromium-headless-shell")
    if program is None:
        pytest.fail("Debian's chromium-headless-shell is not installed: packaging/install.sh test")
    switches = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    switches += ["--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=switches)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def public_wrapper() -> Iterator[Path]:
    """A copy of the preload library that every user can reach, wherever the checkout lies."""
    from built import built

    with tempfile.TemporaryDirectory(prefix="ses-wrapper-") as directory:
        Path(directory).chmod(0o755)
        yield Path(shutil.copy(built("libses-wrapper.so"), directory))


@pytest.fixture
def traces() -> Iterator[Traces]:
    """Looks at a directory every user can reach, as pytest's own temporary directories are not."""
    from traces import Traces

    base = Path(tempfile.mkdtemp(prefix="qstorman-test-"))
    base.chmod(0o755)
    yield Traces(base)
    base.rmdir()  # fails when something was left in it
