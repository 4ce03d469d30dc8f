"""The state of the service in native code: streams by row, and announcements as they are read."""

import json
import math
import os
import shutil
import subprocess
import sys
from collections import Counter as Count
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ses_core
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from ran import ran
from ses_service.api.schemas.nodes import AnnouncementIn, FileEnded, FileOpened
from ses_service.decision.rows import LOADS, PROMISES
from ses_service.ledger.achieved import Achieved, Doubt
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.placement import EndReason
from ses_service.model.columns import element_table
from ses_service.model.entities import Element, Environment
from ses_service.model.policies import Policies
from ses_state import _state
from ses_state._state import Counter, decode

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / "libses" / "state"
SEED = Path(__file__).with_name("announcement.json")
SANITIZED = ("-g1", "-Wall", "-Wextra", "-Werror", "-fno-sanitize-recover=all")
ROWS = ("u/a", "u/b", "u/c")
ELEMENTS = st.sampled_from(
    [
        ("u/a",),
        ("u/b",),
        ("u/a", "u/c"),
        ("u/c", "u/b", "u/a"),
        ("u/gone",),
        ("u/b", "u/gone"),
        ("u/c", "u/no"),
    ]
)
WINDOW = 2.0
MOMENTS = st.integers(0, 40).map(float)


class Streams:
    """A counter and its columns."""

    def __init__(self, device: tuple[int, ...] = (0, 1, 2), room: tuple[int, ...] = (0, 1, 2)) -> None:
        self.counter = Counter()
        self.bind(ROWS, device, room)

    def bind(
        self, rows: tuple[str, ...], device: tuple[int, ...] = (0, 1, 2), room: tuple[int, ...] = (0, 1, 2)
    ) -> None:
        self.columns = [np.zeros(len(rows)) for _ in range(6)]
        self.counter.bind(np.array(device, np.uint32), np.array(room, np.uint32), rows, self.columns)

    def averaged(self, sampled_at: list[float], horizon: float = -math.inf) -> list[float]:
        averaged = np.zeros(len(sampled_at))
        self.counter.observe(horizon, np.array(sampled_at), WINDOW, averaged)
        means: list[float] = averaged.tolist()
        return means


@dataclass
class Noted:
    elements: tuple[str, ...]
    began: float
    ended: float = math.inf


def recount(noted: list[Noted], moment: list[float]) -> list[float]:
    """The mean of what was there before each moment, in steps of 10 ms."""
    mean = [0.0] * 3
    for row, name in enumerate(ROWS):
        steps = moment[row] - (np.arange(6_000) + 0.5) / 100
        weights = np.exp((steps - moment[row]) / WINDOW) / 100 / WINDOW
        for file in noted:
            if name in file.elements:
                mean[row] += weights[(file.began <= steps) & (steps < file.ended)].sum()
    return mean


@given(
    st.lists(st.tuples(ELEMENTS, MOMENTS, st.none() | MOMENTS), max_size=60),
    st.lists(MOMENTS.map(lambda moment: moment + 20), min_size=3, max_size=3),
)
@settings(deadline=None, max_examples=50)
def test_averages_are_those_of_what_was_there(
    said: list[tuple[tuple[str, ...], float, float | None]], moment: list[float]
) -> None:
    streams, noted = Streams(), []
    for number, (elements, began, lasted) in enumerate(said):
        streams.counter.begin(str(number), elements, began, None)
        stop = math.inf if lasted is None else began + lasted
        if lasted is not None:
            streams.counter.end(str(number), elements, began, None, stop)
        noted.append(Noted(elements, began, stop))
    assert streams.averaged(moment) == pytest.approx(recount(noted, moment), abs=0.01)


def test_more_than_fits_grows_and_what_is_old_goes() -> None:
    streams = Streams()
    for number in range(9000):
        streams.counter.begin(str(number), ("u/a", "u/b"), float(number), None)
        streams.counter.end(str(number), ("u/a", "u/b"), float(number), None, number + 0.5)
        if number % 100 == 0:
            streams.averaged([0.0] * 3, number - 5000.0)
    before = streams.averaged([9000.0] * 3)
    half = 1 / (1 + math.exp(0.5 / WINDOW))  # of each second it was there in the first half
    assert before == pytest.approx([half, half, 0], abs=0.001)
    assert streams.averaged([9000.0] * 3, math.inf) == [0, 0, 0]


def test_other_rows_are_counted_from_the_moment_they_are_bound() -> None:
    streams = Streams()
    streams.counter.placed(("u/a", "u/gone"), 5.0)
    streams.counter.placed(("u/a",), 3.0)
    assert (streams.columns[2].tolist(), streams.counter.take_changed().tolist()) == ([5, 0, 0], [0])
    streams.bind(("u/c", "u/a"), (0, 1), (0, 1))
    assert streams.columns[2].tolist() == [0, 5]


def test_samples_and_columns_of_other_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="a sample of each row"):
        Streams().averaged([0.0, 0.0])
    with pytest.raises(ValueError, match="columns of one length"):
        Streams().bind(("u/a",), (0, 1), (0, 1))


@given(st.lists(st.tuples(ELEMENTS, st.sampled_from([0.0, 12.0]))), st.data())
@settings(deadline=None, max_examples=50)
def test_rows_carry_what_is_on_their_device_and_hold_what_is_in_their_room(
    begun: list[tuple[tuple[str, ...], float]], data: st.DataObject
) -> None:
    """B and C are two file systems of one device; what ends leaves nothing."""
    device, room = (0, 1, 1), (0, 1, 2)
    streams = Streams(device, room)
    open_now, reserved = Count[int](), Count[int]()
    there = list(begun)
    for by in (1, -1):
        for elements, held in there:
            streams.counter.count(elements, by, by * held)
            for at in (ROWS.index(name) for name in elements if name in ROWS):
                for row in (row for row in range(3) if device[row] == device[at]):
                    open_now[row] += by
                    reserved[row] += by * held / len(elements) if room[row] == room[at] else 0
        assert streams.columns[0].tolist() == [open_now[row] for row in range(3)]
        assert streams.columns[1].tolist() == pytest.approx([reserved[row] for row in range(3)])
        assert by < 0 or set(streams.counter.take_changed().tolist()) == {
            row for row in range(3) if open_now[row]
        }
        there = data.draw(st.permutations(there))
    assert not any(open_now.values())


def ways(value: Any) -> list[tuple[Any, Any]]:
    """All places of a message, each with what holds it."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    inner = [place for key in keys if isinstance(value[key], dict | list) for place in ways(value[key])]
    return [(value, key) for key in keys] + inner


ODD = [
    None,
    -1,
    1e300,
    True,
    2**64,
    0.5,
    {},
    [],
    "",
    "\x00",
    "ä",
    "x" * 9000,
    "0" * 16,
    [[1, 2, 3]],
    7,
    "closed",
]


@given(st.data())
@settings(deadline=None, max_examples=300)
def test_what_is_read_natively_is_what_the_contract_says(data: st.DataObject) -> None:
    message = json.loads(SEED.read_text())
    for _ in range(data.draw(st.integers(0, 3))):
        holder, key = data.draw(
            st.sampled_from(ways({"opened": message["opened"], "ended": message["ended"]}))
        )
        holder[key] = deepcopy(data.draw(st.sampled_from(ODD)))  # what is put in may be changed in turn
    body = json.dumps(message).encode()
    read = decode(body)
    if read is None:
        return
    taken, rest = read
    contract: AnnouncementIn = BaseModel.model_validate_json.__func__(AnnouncementIn, body)  # type: ignore[attr-defined]
    assert taken == contract.files
    assert json.loads(rest) == {
        key: value for key, value in json.loads(body).items() if key not in ("opened", "ended")
    }


def test_what_is_read_of_a_file_is_what_its_record_says() -> None:
    message, ledger = json.loads(SEED.read_text()), Ledger(Policies())
    elements = tuple(Element(name, name, name, "union", name, "n1") for name in ("union/b1", "union/b2"))
    ledger.bind(element_table(Environment(elements=elements)), np.zeros(2), 10.0)
    read = decode(json.dumps({**message, "ended": []}).encode())
    ends = decode(json.dumps({**message, "opened": []}).encode())
    assert read is not None
    assert ends is not None
    assert ledger.take(read[0], "n1", 10.0, lambda *_: None) == (["00000000000000ad"], [])
    for file in message["opened"][:2]:
        record, origin = ledger.get(file["placement_id"]), file["restore"]
        assert (record.path, record.device, record.inode, record.pid) == (
            *(file[name] for name in ("path", "device", "inode", "pid")),
        )
        subject = record.subject
        assert (subject.user, subject.application, subject.job, subject.node) == (
            *(file[name] for name in ("user", "application", "job")),
            "n1",
        )
        assert record.opened_at == max(origin["placed_at"], min(10.0, file["opened_at"] or 10.0))
        assert record.idle is file.get("idle", False)
        assert record.elements == tuple(origin.get("elements", [origin.get("element")]))
        assert (record.placed_at, record.decided_by) == (origin["placed_at"], origin["decided_by"])
        assert (record.distance, record.expected_bytes) == (
            origin.get("distance", 0.0),
            origin["expected_bytes"],
        )
        assert record.notes == tuple(origin["notes"])
    assert [(known, sizes) for *_, known, _, sizes in ledger.take_sizes(9)] == [(False, [5e6])]
    ledger.take(ends[0], "n1", 20.0, lambda *_: None)
    first, second = (ledger.get(end["placement_id"]) for end in message["ended"][:2])
    assert (first.end_reason, first.bytes_written, first.path) == (EndReason.CLOSED, 12.0, "/mnt/a")
    assert first.achieved == Achieved(
        12.0, 0.0, 0.5, 0.0, 1.5, 4.0, (Doubt.PAGE_CACHE,), ((0.0, 0.0, 0.0), (1.5, 12.0, 0.0))
    )
    assert (second.end_reason, second.bytes_written, second.achieved) == (EndReason.EXITED, None, None)


def test_what_agents_report_is_read_natively() -> None:
    assert decode(SEED.read_bytes()) is not None


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"7", b'{"opened": [', b'{"opened": []} x', b'{"opened": [], "opened": []}', b"\xff"]
)
def test_what_is_no_message_is_left_to_who_can_say_why(body: bytes) -> None:
    assert decode(body) is None
    if not body.endswith(b"[]}"):
        with pytest.raises(ValidationError):
            AnnouncementIn.model_validate_json(body)


def test_every_member_of_a_file_that_the_contract_knows_is_read() -> None:
    """One that only the contract knows would send all announcements that have it the slow way."""
    source = (STATE / "decode.cpp").read_text()
    for model in (FileOpened, FileEnded):
        assert [name for name in model.model_fields if f'"{name}"' not in source] == []


def built(program: Path, *arguments: Any) -> Path:
    subprocess.run(["g++", "-std=gnu++20", *SANITIZED, f"-I{STATE}", "-o", program, *arguments], check=True)
    return program


def test_no_call_of_streams_leaves_the_memory_it_has(tmp_path: Path) -> None:
    program = built(
        tmp_path / "fuzz", "-O1", "-fsanitize=address,undefined,float-cast-overflow",
        Path(__file__).with_name("fuzz_streams.cpp"), STATE / "streams.cpp", STATE / "records.cpp",
    )  # fmt: skip
    for seed in ("1", "2", "3"):
        ran([program, seed, "20000"])


@pytest.mark.parametrize("checks", ["address,undefined", pytest.param("thread", marks=pytest.mark.long)])
def test_messages_and_garbage_are_read_and_taken_without_a_fault(tmp_path: Path, checks: str) -> None:
    names = ("bounds", "decode", "ledger", "ledger_counts", "records", "reports", "streams")
    sources = [*(STATE / f"{name}.cpp" for name in names), Path(__file__).with_name("fuzz_announcements.cpp")]
    whole = tmp_path / "whole.cpp"  # their headers are read once: a tenth of the time
    whole.write_text("".join(f'#include "{source}"\n' for source in sources))
    program = built(tmp_path / "fuzz", "-O0", f"-fsanitize={checks}", "-pthread", whole, "-lsimdjson")
    ran([program, SEED, "2000"])


@pytest.mark.long
def test_no_call_of_python_leaves_the_memory_it_has(tmp_path: Path) -> None:
    """The ledger's own tests, with a module that looks after its memory."""
    package = tmp_path / "ses_state"
    shutil.copytree(
        ROOT / "libses/state/python/ses_state", package, ignore=shutil.ignore_patterns("_state*.so")
    )
    build = (
        "import sysconfig, hatch_build; from pathlib import Path;"
        f"made = Path({str(package)!r}) / ('_state' + sysconfig.get_config_var('EXT_SUFFIX'));"
        "hatch_build.compile_state(made, '-fsanitize=address,undefined', '-fno-sanitize=vptr')"
    )
    subprocess.run([sys.executable, "-c", build], cwd=ROOT / "libses/state/python", check=True)
    asked = [["gcc", f"-print-file-name={name}.so"] for name in ("libasan", "libubsan")]
    sanitizers = [ran(words).stdout for words in asked]
    environment = {
        **os.environ,
        "ASAN_OPTIONS": "detect_leaks=0",
        "LD_PRELOAD": " ".join(map(str.strip, sanitizers)),
        "PYTHONPATH": str(tmp_path),
    }
    names = ("ledger", "announcement", "handover", "verdict", "size_history", "followed_files")
    tests = [f"tests/service/test_{name}.py" for name in names]
    options = ["-q", "-n", "0", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    ran(command, cwd=ROOT, env=environment)


def test_loads_that_a_node_gets_are_those_that_the_core_reads() -> None:
    draw = np.random.default_rng(1)
    elements, rows = ses_core.table(40), draw.permutation(40)[:30]
    for name in (*LOADS, *PROMISES):
        elements[name] = draw.uniform(0, 10.0 ** draw.integers(-4, 13, 40))
    elements["busy"][::3], elements["free"][::7] = np.nan, np.inf
    elements["state"], elements["last_placed"] = draw.integers(0, 2**32, 40), draw.integers(0, 2**62, 40)
    sampled_at, changed = draw.uniform(0, 200, 40), draw.integers(0, 10, 40)
    sampled_at[::5] = np.nan
    loads = json.loads(b"[%b]" % _state.loads(elements, sampled_at, changed, rows, 5, 100.0))
    assert [place for place, *_ in loads] == np.flatnonzero(changed[rows] > 5).tolist()

    def known(number: float, digits: int) -> float | None:
        return float(np.round(np.float64(number), digits)) if np.isfinite(number) else None

    for place, *numbers in loads:
        element, sampled = elements[rows[place]], sampled_at[rows[place]]
        assert numbers == [
            *(known(element[name], 0 if name in ("free", "reserved") else 3) for name in LOADS),
            known(np.maximum(0.0, 100.0 - sampled), 3),
            *(int(element[name]) for name in ("state", "last_placed", *PROMISES)),
        ]


def test_a_table_takes_counts_of_its_own_length_only() -> None:
    elements, changed = ses_core.table(4), np.zeros(4, np.int64)
    columns = [np.arange(4.0) + 10 * number for number in range(6)]
    _state.take_counts(elements, columns, np.array([1, 3]), changed, 7)
    assert changed.tolist() == [0, 7, 0, 7]
    assert elements["own"].tolist() == [0, 1, 0, 3]
    assert elements["last_placed"].tolist() == [0, 21_000, 0, 23_000]
    for wrong in (np.array([4]), np.array([-1])):
        with pytest.raises(IndexError):
            _state.take_counts(elements, columns, wrong, changed, 8)
    with pytest.raises(ValueError, match="length of the table"):
        _state.take_counts(elements, [column[:3] for column in columns], np.array([1]), changed, 8)
    with pytest.raises((ValueError, TypeError)):
        _state.take_counts(np.zeros(4), columns, np.array([1]), changed, 8)
