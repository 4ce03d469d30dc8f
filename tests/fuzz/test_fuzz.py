"""No input makes a reader crash, leave its memory, wait for ever, or believe what is out of range.

`SES_FUZZ_SECONDS` (600) for each target: C and C++ by libFuzzer with AddressSanitizer and
UndefinedBehaviorSanitizer, Python by Atheris.  What is found is left in `build/fuzz/found`.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fuzz_targets import HERE, ROOT, TARGETS, build
from ran import ran

SECONDS = int(os.environ.get("SES_FUZZ_SECONDS", "600"))
PLACE = ROOT / "build/fuzz"
LIMITS = ("-timeout=20", "-rss_limit_mb=1500", "-max_len=65536")
PYTHON = ("announcement", "turtle", "text")
NAMES = (*(target.name for target in TARGETS), *PYTHON)

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600 + (SECONDS + 60) * len(NAMES))]


@pytest.fixture(scope="module")
def packages() -> Path:
    """Return a folder with Atheris, which nothing else needs."""
    subprocess.run([ROOT / "packaging/install.sh", "fuzz"], check=True, timeout=900)
    folder = PLACE / "python"
    if not (folder / "atheris").is_dir():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        install += ["--target", folder, "-r", HERE / "requirements.lock"]
        subprocess.run(install, check=True, timeout=900)
    return folder


def fuzz(name: str, packages: Path) -> str:
    """What was found, as the end of what the fuzzer printed; empty: nothing."""
    failures, corpus = PLACE / "found", PLACE / "corpus" / name
    for folder in (failures, corpus):
        folder.mkdir(parents=True, exist_ok=True)
    target = next((target for target in TARGETS if target.name == name), None)
    seeds = target.corpus if target else HERE / "seeds" / name
    assert any(seeds.iterdir()), f"{seeds} has no inputs to start from"
    program = [sys.executable, HERE / f"targets/{name}.py"] if name in PYTHON else [PLACE / name]
    limits = [f"-max_total_time={SECONDS}", f"-artifact_prefix={failures}/{name}-", *LIMITS]
    limits += target.limits if target else ()
    done = ran(
        [*program, *limits, corpus, seeds],
        code=None,
        errors="replace",
        env={**os.environ, "PYTHONPATH": str(packages)},
    )
    if done.returncode == 0:
        return ""
    return f"{name}: {done.returncode}\n{done.stderr[-6000:]}"


def test_no_input_breaks_a_reader(packages: Path) -> None:
    build(TARGETS, PLACE)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as running:
        findings = list(running.map(lambda name: fuzz(name, packages), NAMES))
    assert not any(findings), "\n".join(findings)
