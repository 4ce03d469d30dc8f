"""The Spack recipe against what it builds: names, options, libraries.  Spack itself is not run."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
REPOSITORY = ROOT / "packaging/spack/spack_repo/qstorman"
RECIPE = REPOSITORY / "packages/qstorman/package.py"

# What CMake's find_package() and pkg_check_modules() look for, by the name of Spack's package.
FOUND_AS = {
    "cli11": {"CLI11"},
    "cpp-httplib": {"httplib", "cpp-httplib"},
    "nlohmann-json": {"nlohmann_json"},
    "openssl": {"OpenSSL"},
    "pkgconfig": {"PkgConfig"},
    "spdlog": {"spdlog"},
}
OF_THE_SYSTEM = {"Threads"}
OWN = {"ses"}  # libraries of this build, which a part that is built alone looks for


def recipe() -> ast.ClassDef:
    (definition,) = (node for node in ast.parse(RECIPE.read_text()).body if isinstance(node, ast.ClassDef))
    return definition


def calls(name: str) -> Iterator[tuple[list[str], dict[str, object]]]:
    """The constant arguments of every call of a directive or method."""
    for node in ast.walk(recipe()):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
            if called == name:
                words = [str(value.value) for value in node.args if isinstance(value, ast.Constant)]
                yield words, {key.arg or "": ast.literal_eval(key.value) for key in node.keywords}


def build_files() -> str:
    (start,) = (
        ast.literal_eval(node.value)
        for node in recipe().body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "root_cmakelists_dir"
    )
    files = {ROOT / start / "CMakeLists.txt", *(ROOT / start).rglob("CMakeLists.txt")}
    for others in re.findall(r"/\.\./([^ }]+) ", (ROOT / start / "CMakeLists.txt").read_text()):
        files.add((ROOT / start).parent / others / "CMakeLists.txt")
    return "\n".join(path.read_text() for path in sorted(files))


def test_the_class_is_found_by_the_names_of_its_folders() -> None:
    described = (REPOSITORY / "repo.yaml").read_text()
    assert re.search(rf"^  namespace: {REPOSITORY.name}$", described, re.MULTILINE)
    assert re.search(r"^  api: v2\.\d+$", described, re.MULTILINE)
    assert recipe().name == RECIPE.parent.name.capitalize()
    assert [ast.unparse(base) for base in recipe().bases] == ["CMakePackage"]


def test_options_are_those_of_the_build() -> None:
    options = set(re.findall(r"option\((\w+)", build_files()))
    defined = {words[0] for name in ("define", "define_from_variant") for words, _ in calls(name)}
    assert defined
    for name in defined:
        assert name in options or name.startswith("CMAKE_"), name
        assert name in build_files(), f"{name} changes nothing"


def test_everything_the_build_looks_for_is_depended_on() -> None:
    wanted = set(re.findall(r"find_package\((\w+)", build_files())) - OF_THE_SYSTEM - OWN
    sources = [*(ROOT / "libses/agent").rglob("*.cpp"), *(ROOT / "libses/agent").rglob("*.h")]
    if "OPENSSL" in build_files().upper() or any("openssl/" in path.read_text() for path in sources):
        wanted.add("OpenSSL")
    depended = {words[0].partition("@")[0] for words, _ in calls("depends_on")}
    assert depended >= {name for name, packages in FOUND_AS.items() if packages & wanted}
    assert wanted <= set().union(*(FOUND_AS.get(name, set()) for name in depended))
    for language in re.findall(r"LANGUAGES ([A-Z ]+)", build_files())[0].split():
        assert language.lower() in depended


def test_the_least_cmake_is_that_of_the_build() -> None:
    (least,) = set(re.findall(r"cmake_minimum_required\(VERSION ([0-9.]+)\)", build_files()))
    assert f"cmake@{least}:" in {words[0] for words, _ in calls("depends_on")}


def test_a_release_has_a_checksum() -> None:
    versions = list(calls("version"))
    assert versions
    for words, fields in versions:
        branch = fields.get("branch")
        assert branch == words[0] or re.fullmatch("[0-9a-f]{64}", str(fields.get("sha256"))), words


def test_what_is_preloaded_is_what_is_installed() -> None:
    source = RECIPE.read_text()
    (library,) = re.findall(r'append_path\("LD_PRELOAD", join_path\(self\.prefix\.lib, "([^"]+)"\)\)', source)
    assert f"OUTPUT_NAME {library.removeprefix('lib').removesuffix('.so')}" in build_files()
    assert 'self.define("CMAKE_INSTALL_LIBDIR", "lib")' in source
