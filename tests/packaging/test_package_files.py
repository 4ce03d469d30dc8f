"""Everything that is installed is in one package of each kind of distribution."""

import re
import subprocess
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEBIAN = ROOT / "packaging/debian"
SPEC = (ROOT / "packaging/rpm/qstorman.spec").read_text()
MULTIARCH = "usr/lib/x86_64-linux-gnu/"
MACROS = {
    "_prefix": "usr",
    "_bindir": "usr/bin",
    "_sbindir": "usr/sbin",
    "_libexecdir": "usr/libexec",
    "_includedir": "usr/include",
    "_datadir": "usr/share",
    "_mandir": "usr/share/man",
    "_unitdir": "usr/lib/systemd/system",
    "_tmpfilesdir": "usr/lib/tmpfiles.d",
    "_sysusersdir": "usr/lib/sysusers.d",
    "_sysconfdir": "etc",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Every file that ``cmake --install`` puts below / for a distribution; nothing is compiled."""
    build = tmp_path_factory.mktemp("build")
    options = ["-G", "Ninja", "-DCMAKE_INSTALL_PREFIX=/usr", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    subprocess.run(
        ["cmake", "-S", ROOT / "libses", "-B", build, *options], check=True, capture_output=True, timeout=600
    )
    paths: set[str] = set()
    for script in build.rglob("cmake_install.cmake"):
        text = script.read_text().replace("${CMAKE_INSTALL_PREFIX}", "/usr")
        for call in re.findall(r"file\(INSTALL (DESTINATION [^)]*)\)", text):
            to = re.search(r'DESTINATION "/([^"]*)"', call)
            assert to, call
            names = [Path(name) for name in re.findall(r'"([^"]*)"', call.partition("FILES")[2])]
            if "TYPE DIRECTORY" in call:
                assert all(name.is_dir() for name in names), call
                paths |= {
                    f"{to[1]}/{path.relative_to(name)}"
                    for name in names
                    for path in name.rglob("*")
                    if path.is_file()
                }
            else:
                paths |= {f"{to[1]}/{name.name}" for name in names}
    assert {"usr/sbin/ses-agent", "usr/bin/ses-run", f"{MULTIARCH}libses.so.0"} <= paths
    return paths


def debian() -> dict[str, list[str]]:
    """The patterns of what each Debian package takes of it."""
    held = {
        listed.stem: [line.split()[0] for line in listed.read_text().splitlines()]
        for listed in sorted(DEBIAN.glob("*.install"))
    }
    rules = (DEBIAN / "rules").read_text()
    for package, path in re.findall(r"dh_install --package=(\S+) (\S+)", rules):  # where there is such a file
        held[package].append(path)
    return held


def rpm() -> dict[str, list[str]]:
    """The patterns of what each RPM package holds."""
    held = {}
    for section in SPEC.split("\n%files -n ")[1:]:
        name, *lines = section.partition("\n%changelog")[0].splitlines()
        paths = [line.split()[-1] for line in lines if line and not line.startswith(("%license", "%dir"))]
        held[name] = [
            re.sub(r"%\{(\w+)\}", lambda macro: MACROS.get(macro[1], macro[0]), path) for path in paths
        ]
    return held


def as_rpm_has_it(path: str) -> str:
    """Where the spec file installs what Debian has at a path."""
    path = path.replace(MULTIARCH, "usr/lib64/").replace("usr/lib32/", "usr/lib/")
    return path.replace("usr/share/qstorman/modulefiles/", "usr/share/modulefiles/")


def holders(path: str, packages: Mapping[str, list[str]]) -> list[str]:
    """The packages that hold a file."""
    return [
        name
        for name, patterns in packages.items()
        if any(fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}/*") for pattern in patterns)
    ]


def test_what_cmake_installs_is_in_one_debian_package(installed: set[str]) -> None:
    packages = {path: holders(path, debian()) for path in installed}
    assert {path: names for path, names in packages.items() if len(names) != 1} == {}


def test_what_cmake_installs_is_in_one_rpm_package(installed: set[str]) -> None:
    paths = {as_rpm_has_it(path) for path in installed if not path.startswith("usr/lib/i386")}
    packages = {path: holders(path, rpm()) for path in paths}
    assert {path: names for path, names in packages.items() if len(names) != 1} == {}


def test_every_package_exists_in_both_kinds_with_a_description() -> None:
    control = (DEBIAN / "control").read_text()
    names = set(re.findall(r"^Package: (.*)$", control, re.MULTILINE))
    assert set(debian()) <= names
    described = set(re.findall(r"^%description -n (.*)$", SPEC, re.MULTILINE))
    assert described == set(rpm())
    as_debian_names_them = {
        {"libses": "libses0", "libses-share": "libses-share0", "libses-offload": "libses-offload0"}.get(
            package, package
        )
        for package in described
        if not package.endswith("-devel")
    }
    assert as_debian_names_them == {name for name in names if not name.endswith("-dev")}


def test_descriptions_are_as_narrow_as_debian_wants_them() -> None:
    """lintian warns of others, and a build of the packages fails."""
    lines = (DEBIAN / "control").read_text().splitlines()
    assert [line for line in lines if line.startswith(" ") and len(line) > 80] == []


def test_commands_of_python_are_in_a_package_or_started_by_a_unit_of_one() -> None:
    scripts: set[str] = set()
    for project in ROOT.glob("**/pyproject.toml"):
        if not {".venv", "build"} & set(project.relative_to(ROOT).parts):
            scripts |= set(tomllib.loads(project.read_text()).get("project", {}).get("scripts", {}))
    assert "ses" in scripts
    assert holders("usr/bin/ses", rpm()) == ["python3-ses"]
    rules = (DEBIAN / "rules").read_text()
    assert "debian/python3-ses/usr/bin/ses\n" in rules
    for name in scripts - {"ses"}:
        unit = (ROOT / f"packaging/systemd/{name}.service").read_text()
        assert f"ExecStart=/opt/qstorman/venv/bin/{name} " in unit
        assert holders(f"usr/lib/systemd/system/{name}.service", rpm()) == ["qstorman-services"]


def test_scripts_for_slurm_are_in_packages() -> None:
    listed = [pattern for patterns in debian().values() for pattern in patterns]
    files = [path for path in (ROOT / "packaging/slurm").iterdir() if path.is_file()]
    assert files
    for path in files:
        assert str(path.relative_to(ROOT)) in listed
        assert f"packaging/slurm/{path.name}" in SPEC
