"""Manual pages and completion come with every program, by every way of installing, and work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ran import ran

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build/libses"
BY_CMAKE = {
    "ses-run": "run",
    "ses-supervisor": "run",
    "ses-copy": "copy",
    "ses-migrate": "copy",
    "ses-agent": "agent",
    "ses-share-agent": "extras/share",
    "smed-mirror": "extras/sampler",
    "smed-sampler": "extras/sampler",
}
BY_PIP = ("ses", "ses-service", "smed-monitor", "ses-webface")
IN_PACKAGES = {
    "ses": ("libses/python", "python3-ses"),
    "ses-run": ("libses", "libses-wrapper"),
    "ses-supervisor": ("libses", "libses-wrapper"),
    "ses-copy": ("libses", "ses-copy"),
    "ses-migrate": ("libses", "ses-copy"),
    "ses-agent": ("libses", "ses-agent"),
    "ses-share-agent": ("libses/extras/share", "ses-share-agent"),
    "smed-mirror": ("libses/extras/sampler", "smed-sampler"),
    "smed-sampler": ("libses/extras/sampler", "smed-sampler"),
}
NOT_BY_HAND = ("ses-supervisor",)


def companions(share: Path, program: str) -> list[Path]:
    """Return the manual page and the completion of a program below a folder `share`."""
    pages = [page for page in share.glob("man/man[18]/*") if page.stem == program]
    page = pages or [share / "man/man1" / f"{program}.1"]
    if program in NOT_BY_HAND:
        return page
    return [
        *page,
        share / "bash-completion/completions" / program,
        share / "zsh/site-functions" / f"_{program}",
        share / "fish/vendor_completions.d" / f"{program}.fish",
    ]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `cmake --install` put what was built."""
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run(
        ["cmake", "--install", BUILT, "--prefix", prefix], check=True, capture_output=True, timeout=600
    )
    return prefix


@pytest.mark.parametrize("program", BY_CMAKE)
def test_cmake_installs_page_and_completion(installed: Path, program: str) -> None:
    missing = [path for path in companions(installed / "share", program) if not path.is_file()]
    assert not missing


@pytest.mark.parametrize("program", BY_PIP)
def test_pip_installs_page_and_completion(program: str) -> None:
    missing = [path for path in companions(Path(sys.prefix) / "share", program) if not path.is_file()]
    assert not missing


@pytest.mark.parametrize("program", IN_PACKAGES)
def test_packages_of_distributions_hold_page_and_completion(program: str) -> None:
    part, package = IN_PACKAGES[program]
    spec = (ROOT / "packaging/rpm/qstorman.spec").read_text()
    held = spec.partition(f"%files -n {package}\n")[2].partition("%files")[0]
    assert held
    listed = ROOT / "packaging/debian" / f"{package}.install"
    for path in companions(ROOT / part / "share", program):
        assert f"/{path.name}" in held, f"{package} for RPM lacks {path}"
        if package != "python3-ses":  # whose `share` is copied whole
            assert f"/{path.name}" in listed.read_text(), f"{listed.name} lacks {path}"
    assert (
        "cp -r libses/python/share debian/python3-ses/usr/" in (ROOT / "packaging/debian/rules").read_text()
    )


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("ses", "do"), {"doctor"}),
        (("ses", "rank", "--wr"), {"--write"}),
        (("ses-service", "to"), {"token"}),
        (("smed-monitor", "ch"), {"check"}),
        (("ses-webface", "acc"), {"account"}),
        (("ses-run", "--su"), {"--supervise"}),
        (("ses-run", "--check", "--js"), {"--json"}),
        (("ses-agent", "--tls"), {"--tls-cert", "--tls-key"}),
        (("smed-sampler", "--pe"), {"--period-ms"}),
    ],
)
def test_bash_completes(installed: Path, words: tuple[str, ...], offered: set[str]) -> None:
    program = words[0]
    share = (installed if program in BY_CMAKE else Path(sys.prefix)) / "share"
    script = """
    source "$1"; shift
    complete -p "$1" >/dev/null || exit 9
    function=$(complete -p "$1"); function=${function##*-F }; function=${function%% *}
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" ""
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = ran(
        ["bash", "-c", script, "bash", share / "bash-completion/completions" / program, *words],
        env={**os.environ, "PATH": path},
    )
    assert set(done.stdout.split()) == offered, done.stderr


@pytest.mark.parametrize("program", ["ses-run", "ses-agent"])
def test_after_an_option_with_a_value_files_are_completed(installed: Path, program: str) -> None:
    script = (installed / "share/bash-completion/completions" / program).read_text()
    assert "complete -o default " in script
    assert "--socket|" in script


def test_manual_pages_are_understood_by_groff() -> None:
    listed = ran(["git", "ls-files", "*/share/man/*"], cwd=ROOT).stdout.split()
    pages = [ROOT / name for name in listed]
    assert len(pages) == len(BY_CMAKE) + len(BY_PIP)
    for page in pages:
        done = ran(["groff", "-man", "-ww", "-z", page], code=None)
        assert (done.returncode, done.stderr) == (0, ""), page
