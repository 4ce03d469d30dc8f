"""What is installed on compute nodes: module files, the 32-bit library, units, the packages' files."""

import os
import re
import shlex
import struct
from pathlib import Path

import pytest
from ran import ran

ROOT = Path(__file__).parents[2]
LMOD = Path("/usr/share/lmod/lmod/libexec/lmod")


def run(*argv: str | Path, **environment: str) -> str:
    done = ran(argv, env={**os.environ, **environment})
    return done.stdout


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build as distributions configure it; nothing is compiled."""
    folder = tmp_path_factory.mktemp("build")
    run("cmake", "-S", ROOT / "libses", "-B", folder, "-G", "Ninja", "-DCMAKE_INSTALL_PREFIX=/usr",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo")  # fmt: skip
    return folder


def test_the_module_appends_to_what_is_preloaded(configured: Path) -> None:
    files = configured / "modulefiles"
    before = "libm.so.6"
    there = {"MODULEPATH": str(files), "LD_PRELOAD": before}
    loaded = run(LMOD, "sh", "load", "ses", **there)
    preload = re.search(r"^LD_PRELOAD=(.*);$", loaded, re.MULTILINE)
    assert preload
    (value,) = shlex.split(preload[1])
    assert value == f"{before}:/usr/$LIB/libses-wrapper.so"


@pytest.mark.parametrize("before", [None, "libm.so.6", "libm.so.6:libdl.so.2"])
def test_unloading_the_module_leaves_what_was_preloaded(configured: Path, before: str | None) -> None:
    script = """
    eval "$("$LMOD" sh load ses)"; echo "${LD_PRELOAD-unset}"
    eval "$("$LMOD" sh unload ses)"; echo "${LD_PRELOAD-unset}"
    """
    there = {"LMOD": str(LMOD), "MODULEPATH": str(configured / "modulefiles")}
    # Nothing but echo, which is the shell's own, and Lmod run with the library named: it need not exist.
    done = ran(
        ["bash", "-c", script], env={**os.environ, **there, **({"LD_PRELOAD": before} if before else {})}
    )
    loaded, unloaded = done.stdout.split()
    assert loaded.endswith("/usr/$LIB/libses-wrapper.so")
    assert unloaded == (before or "unset")


@pytest.mark.parametrize("name", ["ses", "ses.lua"])
def test_both_kinds_of_module_file_name_the_same_library(configured: Path, name: str) -> None:
    assert "/usr/$LIB/libses-wrapper.so" in (configured / "modulefiles" / name).read_text()


def test_32_bit_programs_get_a_library_without_needs(configured: Path) -> None:
    run("cmake", "--build", configured, "--target", "ses_quiet")
    library = (configured / "quiet" / "libses-wrapper.so").read_bytes()
    ei_class, machine = library[4], struct.unpack_from("<H", library, 18)[0]
    assert library[:4] == b"\x7fELF"
    assert (ei_class, machine) == (1, 3)  # 32 bit, i386
    listed = run("readelf", "--dynamic", "--wide", configured / "quiet" / "libses-wrapper.so")
    assert "NEEDED" not in listed
    symbols = run("readelf", "--dyn-syms", "--wide", configured / "quiet" / "libses-wrapper.so")
    assert "FUNC" not in symbols


def test_packages_take_only_what_is_installed(configured: Path) -> None:
    """A pattern that matches nothing would fail in a build of the packages, which no test runs."""
    scripts = "".join(path.read_text() for path in configured.rglob("cmake_install.cmake"))
    names = set(re.findall(r'/([^/"$;]+)"', scripts)) | {"ses", "libses.so.0"}
    for share in re.findall(r'"([^"]*/share)/"', scripts):  # a folder is installed with all that is in it
        names |= {path.name for path in Path(share).rglob("*")}
    for listed in sorted((ROOT / "packaging" / "debian").glob("*.install")):
        for line in listed.read_text().splitlines():
            pattern = line.split()[0]
            if pattern.startswith("packaging/"):
                assert (ROOT / pattern).exists(), f"{listed.name}: {pattern}"
            else:
                last = re.compile(re.escape(pattern.rpartition("/")[2]).replace(r"\*", ".*"))
                assert any(last.fullmatch(name) for name in names), f"{listed.name}: {pattern}"


def test_every_unit_is_in_a_package() -> None:
    rules = (ROOT / "packaging" / "debian" / "rules").read_text()
    spec = (ROOT / "packaging" / "rpm" / "qstorman.spec").read_text()
    for unit in (ROOT / "packaging" / "systemd").glob("*.service"):
        assert unit.stem in rules, f"{unit.name} is in no Debian package"
        assert f"%{{_unitdir}}/{unit.name}\n" in spec, f"{unit.name} is in no RPM package"


def test_units_start_programs_with_options_they_have() -> None:
    units = sorted((ROOT / "packaging" / "systemd").glob("*.service"))
    assert len(units) == 6
    for unit in units:
        start = re.search(r"^ExecStart=(\S+) (.*)$", unit.read_text(), re.MULTILINE)
        assert start, unit.name
        program, command = Path(start[1]).name, start[2].split()[0]
        pages = ROOT / "docs" / "commands"
        own = pages / f"{program}-{command}.md"
        section = (own if own.exists() else pages / f"{program}.md").read_text()
        if "\n## " in section:
            section = section.partition(f"\n## `{program} {command}")[2].partition("\n## ")[0]
        assert section, f"{unit.name} starts what is not documented"
        for option in re.findall(r"--[a-z-]+", start[2]):
            assert f"`{option}`" in section, f"{unit.name}: {option}"


def test_units_of_one_machine_start_after_those_they_ask_and_wait_for_none_in_vain() -> None:
    """Order only: none needs another to start, and the agent waits for no service."""
    order, needs = {}, {}
    for unit in (ROOT / "packaging" / "systemd").glob("*.service"):
        words = re.findall(r"^(After|Wants|Requires|BindsTo)=(.*)$", unit.read_text(), re.MULTILINE)
        ours = {name: {part for part in value.split() if part.endswith(".service")} for name, value in words}
        order[unit.stem] = ours.pop("After", set())
        needs[unit.stem] = set().union(*ours.values())
    assert order == {
        "smed-monitor": set(),
        "ses-service": {"smed-monitor.service"},
        "ses-webface": {"ses-service.service"},
        "ses-agent": set(),
        "ses-apply@": set(),
        "ses-share-agent": {"munge.service"},
    }
    assert not any(needs.values())


def test_each_service_is_a_user_of_its_own_with_a_closed_state() -> None:
    made = (ROOT / "packaging/systemd/qstorman.sysusers").read_text()
    users = {}
    for name in ("ses-service", "smed-monitor", "ses-webface"):
        unit = (ROOT / f"packaging/systemd/{name}.service").read_text()
        (users[name],) = re.findall(r"^User=(\S+)$", unit, re.MULTILINE)
        assert re.search(rf"^u {users[name]} - ", made, re.MULTILINE)
        assert f"\nm {users[name]} qstorman-tls\n" in made
        assert {"StateDirectoryMode=0700", "UMask=0077", "CapabilityBoundingSet="} <= set(unit.splitlines())
    assert len(set(users.values())) == 3
    service = (ROOT / "packaging/systemd/ses-service.service").read_text()
    assert f" --portal-user {users['ses-webface']} " in service


def test_no_unit_that_is_to_run_always_gives_up() -> None:
    """By default systemd starts nothing a sixth time in ten seconds: a port taken for a moment is enough."""
    units = [path.read_text() for path in (ROOT / "packaging" / "systemd").glob("*.service")]
    always = [unit for unit in units if "\nRestart=always\n" in unit]
    assert len(always) == 5
    assert all("\nStartLimitIntervalSec=0\n" in alway.partition("[Service]")[0] for alway in always)


def test_one_session_of_shared_memory_that_is_killed_for_memory_ends_no_other() -> None:
    """systemd ends a whole unit of which the kernel killed one process, unless it is told not to."""
    unit = (ROOT / "packaging/systemd/ses-share-agent.service").read_text().splitlines()
    assert any(line.startswith("MemoryMax=") for line in unit)
    assert "OOMPolicy=continue" in unit


CLOSED = {
    *("CapabilityBoundingSet", "LockPersonality", "MemoryMax", "NoNewPrivileges", "PrivateDevices"),
    *("PrivateTmp", "ProtectClock", "ProtectControlGroups", "ProtectHome", "ProtectKernelLogs"),
    *("ProtectKernelModules", "ProtectKernelTunables", "ProtectSystem", "RestrictAddressFamilies"),
    *("RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID", "SystemCallArchitectures"),
}
# What a unit cannot do without: files of users are anywhere, and have any mode.
OPEN = {
    "ses-agent": {"PrivateTmp", "ProtectHome", "ProtectSystem", "RestrictSUIDSGID"},
    "ses-apply@": {"ProtectHome"},
}


@pytest.mark.parametrize(
    "unit", sorted((ROOT / "packaging/systemd").glob("*.service")), ids=lambda path: path.stem
)
def test_each_unit_is_as_closed_as_the_others(unit: Path) -> None:
    lines = unit.read_text().splitlines()
    stated = {name for name, _, value in (line.partition("=") for line in lines) if value != "no"}
    assert CLOSED - stated == OPEN.get(unit.stem, set())
