"""``ses.api``: the same words from Python, on a real union, and the same numbers as the header."""

from __future__ import annotations

import inspect
import os
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ran import ran
from ses import api
from ses.api import Kind, LibraryError, LustreManager, Status, StoragePolicy
from ses.api import library as binding
from ses_client.quantities import SIZES

if TYPE_CHECKING:
    from mergerfs_union import Union

UNITS = Path(__file__).parents[3] / "ontology" / "units.ttl"
HEADER = Path(__file__).parents[3] / "libses" / "include" / "ses" / "ses.h"
STREAMS = tuple(f"ses_stream_{name}" for name in ("node", "profile", "path", "limits"))
Script = Callable[..., str]


@pytest.fixture
def script(union: Union, build: Path) -> Script:
    """Run a Python program in the union, with libses as it was built; what it printed."""

    def run(text: str, **environment: str) -> str:
        program = "from ses.api import *\n" + textwrap.dedent(text)
        done = union.run(
            sys.executable, "-c", program, library=False, check=False,
            SES_LIBRARY=str(build / "libses.so.0"), **environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    return run


@pytest.fixture(autouse=True)
def loaded(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process uses the built library, too."""
    monkeypatch.setenv("SES_LIBRARY", str(build / "libses.so.0"))
    binding.library.cache_clear()


@pytest.mark.root
def test_a_file_goes_where_the_agent_says_and_the_result_tells(union: Union, script: Script) -> None:
    union.agent.choose = lambda _: 2
    union.agent.reply = lambda ask, number: union.agent.place(ask, number, distance=0.25, placement_id=0xAB12)
    said = script("""
        policy = StoragePolicy(average_read_rate=50, capacity=100, pool="fast", application="solver",
                               expected_size=4096, stripe_count=4, stripe_size=1 << 20)
        policy.set_weight(Kind.AVERAGE_READ_RATE, 2.5)
        policy.set_hard(Kind.FREE_CAPACITY)
        with LustreManager().open("file", policy) as file:
            file.write(b"stored")
            result = file.result
        print(result.placed, result.reason.name, result.element, result.distance, hex(result.placement_id))
    """)
    assert said.split() == ["True", "OK", "union/b3", "0.25", "0xab12"]
    assert union.copies(union.path / "file") == [2]
    assert (union.path / "file").read_text() == "stored"
    (ask,) = union.agent.asks
    assert ask.requirements == ((2, False, 50.0, 2.5), (5, True, 100.0, 1.0))
    assert (ask.pool, ask.application, ask.expected_bytes) == ("fast", "solver", 4096)
    assert (ask.stripe_count, ask.stripe_size) == (4, 1 << 20)


@pytest.mark.root
def test_a_relative_create_keeps_flags_and_mode(union: Union, script: Script) -> None:
    (union.path / "folder").mkdir()
    said = script("""
        import os
        os.umask(0o027)
        folder = os.open("folder", os.O_DIRECTORY)
        flags = os.O_WRONLY | os.O_EXCL
        descriptor, result = LustreManager().create_file_at(folder, "file", flags, mode=0o666)
        print(oct(os.fstat(descriptor).st_mode & 0o777), os.get_inheritable(descriptor), result.placed)
        try:
            LustreManager().create_file_at(folder, "file", flags)
        except FileExistsError as error:
            print(error.filename)
    """)
    assert said.split() == ["0o640", "False", "True", "file"]


@pytest.mark.root
def test_a_file_that_exists_stays_and_says_so(union: Union, script: Script) -> None:
    (union.branches[1] / "file").write_text("before")
    said = script("""
        with LustreManager().open("file") as file:
            print(file.result.placed, file.result.reason.name, file.result.distance, file.result.message)
    """)
    assert said.startswith("False NOT_PLACED_EXISTS None ")
    assert union.copies(union.path / "file") == [1]


@pytest.mark.root
@pytest.mark.parametrize("mode", ["w", "x", "a", "w+", "wb", "xb", "ab", "w+b"])
def test_a_placed_file_is_a_file_object_as_python_s_own(union: Union, script: Script, mode: str) -> None:
    union.agent.choose = lambda _: 1
    said = script(
        """
        import io, os, ses.api
        mode = os.environ["MODE"]
        data = b"stored" if "b" in mode else "stored"
        with ses.api.open("file", StoragePolicy(capacity="1GB"), mode) as file:
            own = io.open("/dev/null", mode.replace("x", "w"))
            assert type(file) is type(own) and file.mode == own.mode.replace("w", mode[0]), (file, own)
            print(file.name, file.result.element, file.write(data))
        print(file.closed, open("file").read())
        """,
        MODE=mode,
    )
    assert said.split() == ["file", "union/b2", "6", "True", "stored"]
    assert union.copies(union.path / "file") == [1]


def test_text_is_written_as_it_is_asked_for(tmp_path: Path) -> None:
    with api.open(
        tmp_path / "file", None, "w", encoding="utf-16-le", newline="\r\n", permissions=0o600
    ) as file:
        file.write("a\n")
    assert (tmp_path / "file").read_bytes() == "a\r\n".encode("utf-16-le")
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
    with api.open(tmp_path / "file", None, "a", encoding="utf-16-le") as file:
        file.write("b")
    assert (tmp_path / "file").read_bytes() == "a\r\nb".encode("utf-16-le")
    with pytest.raises(FileExistsError):
        api.open(tmp_path / "file", None, "x")


@pytest.mark.parametrize("mode", ["r", "rb", "r+", "r+b", "sideways"])
def test_a_mode_that_creates_nothing_is_refused_and_creates_nothing(tmp_path: Path, mode: str) -> None:
    with pytest.raises(ValueError, match="mode"):
        LustreManager().open(tmp_path / "file", None, mode)  # type: ignore[call-overload]  # what is tested
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"capacity": "100GB"}, "capacity=100.0"),
        ({"capacity": "1e2GB"}, "capacity=100.0"),
        ({"capacity": " 1.5 TiB "}, "capacity=1649.267441664"),
        ({"average_read_rate": "0.05GB/s"}, "average_read_rate=50.0"),
        ({"current_write_rate": "1 MiB/s"}, "current_write_rate=1.048576"),
        ({"expected_size": "4GiB"}, "expected_size=4294967296"),
        ({"expected_size": "0.3B"}, "expected_size=1"),
        ({"stripe_size": "64KiB"}, "stripe_size=65536"),
    ],
)
def test_an_amount_may_be_a_text_with_a_unit(given: dict[str, str], shown: str) -> None:
    assert repr(StoragePolicy(**given)) == f"StoragePolicy({shown})"  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", SIZES)
def test_units_are_those_of_the_vocabulary(unit: str) -> None:
    text = UNITS.read_text()
    for symbol in (unit, f"{unit}/s"):
        multiplier = re.search(rf'conversionMultiplier (\S+) ; qudt:symbol "{symbol}" ', text)
        assert multiplier
        assert float(multiplier[1]) / 8 == SIZES[unit]
    assert len(re.findall("unitForQuantityKind quantitykind:AmountOfData", text)) == len(SIZES)


@pytest.mark.parametrize("text", ["100", "GB", "100 gb", "100GB/s", "1,5TB", "", "1" * 99 + "B"])
def test_a_text_that_is_no_amount_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"capacity: '.*' is not understood.* like 100GB"):
        StoragePolicy(capacity=text)


@pytest.mark.parametrize(
    "refused",
    [
        {"average_read_rate": "-1MB/s"},
        {"average_read_rate": "50MB"},
        {"average_read_rate": -1.0},
        {"current_write_rate": float("nan")},
        {"capacity": 1e13},
        {"stripe_count": 2001},
        {"stripe_count": -1},
        {"stripe_size": 65537},
        {"expected_size": 1 << 70},
        {"pool": "two words"},
        {"pool": "zero\0"},
        {"application": "a:b"},
    ],
)
def test_a_value_without_sense_raises_and_names_itself(refused: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(refused))):
        StoragePolicy(**refused)  # type: ignore[arg-type]  # one of many keywords


def test_a_copy_is_of_its_own() -> None:
    policy = StoragePolicy(capacity=5)
    other = policy.copy()
    del policy
    other.set_weight(Kind.FREE_CAPACITY, 2)
    assert repr(other) == "StoragePolicy(capacity=5.0, FREE_CAPACITY.weight=2.0)"


def test_a_policy_shows_what_was_said() -> None:
    policy = StoragePolicy(average_read_rate=50, capacity=100, application="solver")
    policy.set_hard(Kind.FREE_CAPACITY)
    shown = (
        "StoragePolicy(average_read_rate=50.0, capacity=100.0, application='solver', FREE_CAPACITY.hard=True)"
    )
    assert repr(policy) == repr(policy.copy()) == shown
    policy.clear(Kind.FREE_CAPACITY)
    policy.set_application(None)
    policy.set_application(None)
    assert repr(policy) == "StoragePolicy(average_read_rate=50.0)"
    assert repr(LustreManager()) == "LustreManager()"


def test_a_name_with_a_zero_byte_is_refused_as_by_open(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="null byte"):
        LustreManager().create_file(f"{tmp_path}/a\0b")
    assert not list(tmp_path.iterdir())


def test_a_create_that_fails_raises_what_open_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        LustreManager().open(tmp_path / "missing" / "file")
    assert caught.value.filename == str(tmp_path / "missing" / "file")


def test_no_layout_outside_lustre(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="not supported"):
        LustreManager().layout(tmp_path)


def test_every_public_word_says_what_it_is_and_its_unit() -> None:
    for name in api.__all__:
        public = getattr(api, name)
        assert inspect.getdoc(public), name
        for method, function in vars(public).items():
            if inspect.isfunction(function) and not method.startswith("_"):
                assert inspect.getdoc(function), f"{name}.{method}"
                assert "return" in inspect.get_annotations(function), f"{name}.{method}"
    for method in (name for name in dir(StoragePolicy) if name.endswith(("_rate", "_size", "_capacity"))):
        assert re.search(r"in (MB/s|GB|bytes), or a text", getattr(StoragePolicy, method).__doc__), method


def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SES_LIBRARY", str(tmp_path / "libses.so.0"))
    binding.library.cache_clear()
    with pytest.raises(LibraryError, match=re.escape(str(tmp_path / "libses.so.0"))):
        StoragePolicy()


def test_the_numbers_are_those_of_the_header() -> None:
    text = HEADER.read_text()
    statuses = dict(
        re.findall(r"^  SES_((?:OK|REFUSED|NOT_PLACED|CREATE_FAILED)\w*) = (\d+)", text, re.MULTILINE)
    )
    assert {status.name: str(status.value) for status in Status} == statuses
    kinds = dict(re.findall(r"^  SES_(\w+_RATE|FREE_CAPACITY) = (\d)", text, re.MULTILINE))
    assert {kind.name: str(kind.value) for kind in Kind} == kinds


def test_the_declarations_are_those_of_the_header(tmp_path: Path) -> None:
    """The compiler takes both together (stream.h includes ses.h): a function declared otherwise is an error,
    as is another size.
    """
    declared = re.sub(r"typedef struct ses_\w+ (ses_\w+;|\{[^}]*\} ses_\w+;)", "", binding.DECLARATIONS)
    declared = declared.replace("int ses_policy_", "ses_status ses_policy_").replace(
        "unsigned mode", "mode_t mode"
    )
    declared = declared.replace("int kind", "ses_requirement_kind kind")
    source = tmp_path / "both.c"
    sizes = "".join(
        f'_Static_assert(sizeof({name}) == {binding.ffi.sizeof(name)}, "{name}");\n'
        for name in ("ses_result", "ses_component", "ses_node", "ses_place", "ses_load", *STREAMS)
    )
    source.write_text(f"#include <ses/stream.h>\n{declared}\n{sizes}")
    command = ["gcc", "-std=c11", "-fsyntax-only", "-I", str(HEADER.parents[1]), str(source)]
    ran(command, env=os.environ)
    exported = (HEADER.parents[2] / "api" / "exports.map").read_text()
    assert set(re.findall(r"\b(ses_\w+)\(", binding.DECLARATIONS)) == set(
        re.findall(r"^    (ses_\w+);", exported, re.M)
    )
