"""Which file the bytes of a program belong to, as far as looks at it from outside can tell."""

import os

import pytest
from ses.profiling.attribution import Attribution
from ses.profiling.proc import Look, Moved, OpenFile, ProcessLook
from ses.profiling.result import FileUse

MB = 10**6
READ, WRITE = os.O_RDONLY, os.O_WRONLY


def process(
    read: int = 0,
    written: int = 0,
    streams: tuple[str, ...] = (),
    endless: dict[int, str] | None = None,
    pipes: dict[int, str] | None = None,
    **files: tuple[int, int],
) -> ProcessLook:
    """A process that moved so much, with descriptors NAME=(position, flags) from 3 on.

    Pipe 0 is read, others are written.
    """
    opened = {
        fd: OpenFile(f"/{name}", position, flags)
        for fd, (name, (position, flags)) in enumerate(files.items(), 3)
    }
    devices = {fd: OpenFile(path, 0, os.O_RDWR) for fd, path in (endless or {}).items()}
    ends = {fd: OpenFile(path, 0, WRITE if fd else READ) for fd, path in (pipes or {}).items()}
    other = frozenset([*streams, *(device.path for device in (*devices.values(), *ends.values()))])
    return ProcessLook(Moved(read, written), 0.0, opened, other, devices, None, ends)


def attributed(*looks: ProcessLook | dict[int, ProcessLook]) -> dict[str, FileUse]:
    return {file.path: file for file in added(*looks).files()}


def added(*looks: ProcessLook | dict[int, ProcessLook]) -> Attribution:
    attribution = Attribution(inherited={0: "/dev/zero", 1: "/out"})
    for at, look in enumerate(looks):
        attribution.add(Look(float(at), look if isinstance(look, dict) else {1: look}))
    return attribution


def test_a_file_moved_by_how_far_its_position_advanced() -> None:
    shares = attributed(
        process(a=(0, READ), b=(0, WRITE)),
        process(5 * MB, 2 * MB, a=(5 * MB, READ), b=(2 * MB, WRITE)),
        process(9 * MB, 3 * MB, a=(9 * MB, READ), b=(3 * MB, WRITE)),
    )
    assert shares["/a"] == FileUse("/a", 9 * MB, 0, "sequential")
    assert shares["/b"] == FileUse("/b", 0, 3 * MB, "sequential")


def test_a_position_that_jumps_is_random_access_and_the_bytes_are_that_files() -> None:
    places = (700, 20, 300, 900, 100, 600)
    shares = attributed(
        process(a=(0, READ)), *(process(n * MB, a=(place * MB, READ)) for n, place in enumerate(places, 1))
    )
    assert shares["/a"].pattern == "random"
    assert shares["/a"].read_bytes == 6 * MB


def test_what_a_file_moved_before_it_was_closed_is_its_own() -> None:
    shares = attributed(process(2 * MB, a=(2 * MB, READ)), process(10 * MB))
    assert shares["/a"].read_bytes == 10 * MB


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (process(a=(0, READ), b=(0, READ)), process(10 * MB, a=(0, READ), b=(0, READ))),
        (process(a=(0, READ), b=(0, READ)), process(10 * MB)),
        (process(a=(0, READ)), process(10 * MB, streams=("socket:[1]",), a=(0, READ))),
    ],
)
def test_bytes_that_may_belong_to_several_belong_to_none(before: ProcessLook, after: ProcessLook) -> None:
    assert attributed(before, after) == {}


def test_of_many_small_files_those_that_are_seen_get_their_own_bytes_alone() -> None:
    """As tar unpacks: between two looks a thousand files are opened, written and closed."""
    archive, size = 200 * MB, 20_000
    looks = [
        process(20 * MB * n, 20 * MB * n, tar=(20 * MB * n, READ), **{f"f{n}": (size, WRITE)})
        for n in range(10)
    ]
    shares = attributed(*looks, process(archive, archive, tar=(archive, READ)))
    assert shares.pop("/tar").read_bytes == archive
    assert shares.keys() <= {f"/f{n}" for n in range(10)}
    assert max(share.written_bytes for share in shares.values()) <= 2 * size


def test_a_file_that_was_open_for_long_has_its_last_bytes_also_when_others_were_before() -> None:
    """As a file that one call reads whole: its position is that of the begin until the call ends."""
    shares = attributed(
        process(module=(0, READ)),
        process(data=(0, READ)),
        process(data=(0, READ)),
        process(50 * MB, out=(0, WRITE)),
    )
    assert shares["/data"].read_bytes == 50 * MB


RANDOM = {5: "/dev/urandom"}


@pytest.mark.parametrize(
    ("before", "after", "counted"),
    [
        (
            process(b=(0, WRITE), endless=RANDOM),
            process(9 * MB, 9 * MB, b=(9 * MB, WRITE), endless=RANDOM),
            9 * MB,
        ),
        (process(a=(0, READ), endless=RANDOM), process(9 * MB, a=(9 * MB, READ), endless=RANDOM), 0),
        (process(a=(0, READ), endless=RANDOM), process(9 * MB, a=(0, READ), endless=RANDOM), 0),
        (process(a=(0, READ), endless=RANDOM), process(9 * MB, endless=RANDOM), 0),
    ],
    ids=["copied to a file", "beside a file that is read", "and one at given offsets", "and one that was"],
)
def test_random_numbers_are_no_storage_where_no_file_may_have_been_read(
    before: ProcessLook, after: ProcessLook, counted: int
) -> None:
    assert added(before, after).no_storage == (counted, 0)


ZERO, NULL = {5: "/dev/zero"}, {6: "/dev/null"}


@pytest.mark.parametrize(
    ("looks", "endless"),
    [
        ((process(endless=ZERO), process(10 * MB, endless=ZERO)), (10 * MB, 0)),
        ((process(endless=NULL), process(0, 10 * MB, endless=NULL)), (0, 10 * MB)),
        ((process(endless=ZERO), process(10 * MB)), (10 * MB, 0)),
        ((process(b=(0, WRITE), endless=ZERO), process(9 * MB, 9 * MB, b=(9 * MB, WRITE))), (9 * MB, 0)),
        ((process(a=(0, READ), endless=NULL), process(9 * MB, 8 * MB, a=(9 * MB, READ))), (0, 8 * MB)),
        (({1: process(), 2: process(2 * MB, endless=ZERO)}, {1: process(10 * MB)}), (10 * MB, 0)),
        ((process(a=(0, READ), endless=ZERO), process(10 * MB)), (0, 0)),
        ((process(endless=NULL), process(10 * MB)), (0, 0)),
        ((process(endless={0: "/dev/zero"}), process(10 * MB, endless={0: "/dev/zero"})), (0, 0)),
    ],
    ids=[
        *("read", "written", "closed", "copied to a file", "copied from a file", "by a child that ended"),
        *("a file was read", "the other way", "as its input"),
    ],
)
def test_bytes_of_endless_devices_are_told_apart(
    looks: tuple[ProcessLook | dict[int, ProcessLook], ...], endless: tuple[int, int]
) -> None:
    assert added(*looks).endless == endless


INTO, OUT_OF = {1: "pipe:[1]"}, {0: "pipe:[1]"}


def test_what_goes_through_a_pipe_between_two_processes_is_no_storage() -> None:
    """One copies a file into a pipe, the other from there into two files."""
    total = added(
        {1: process(pipes=INTO, a=(0, READ)), 2: process(pipes=OUT_OF, b=(0, WRITE), c=(0, WRITE))},
        {
            1: process(9 * MB, 9 * MB, pipes=INTO, a=(9 * MB, READ)),
            2: process(8 * MB, 16 * MB, pipes=OUT_OF, b=(8 * MB, WRITE), c=(8 * MB, WRITE)),
        },
    )
    assert total.piped == 8 * MB
    assert total.no_storage == (8 * MB, 8 * MB)
    assert [(file.path, file.read_bytes, file.written_bytes) for file in total.files()] == [
        ("/a", 9 * MB, 0), ("/b", 0, 8 * MB), ("/c", 0, 8 * MB),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (process(pipes=OUT_OF, a=(0, READ)), process(9 * MB, pipes=OUT_OF, a=(0, READ))),
        (process(pipes=OUT_OF, a=(0, READ)), process(9 * MB, pipes=OUT_OF)),
        (process(pipes={0: "pipe:[0]"}), process(9 * MB, pipes={0: "pipe:[0]"})),
        (process(), process(9 * MB)),
    ],
    ids=["a file may have been read", "a file was read", "as its input", "without a pipe"],
)
def test_what_may_be_of_a_file_counts(before: ProcessLook, after: ProcessLook) -> None:
    attribution = Attribution(inherited={0: "pipe:[0]"})
    attribution.add(Look(0.0, {1: process(pipes=INTO), 2: before}))
    attribution.add(Look(1.0, {1: process(0, 9 * MB, pipes=INTO), 2: after}))
    assert attribution.no_storage == (0, 0)


def test_the_output_a_program_was_started_with_gets_no_rest() -> None:
    shares = attributed(process(out=(0, WRITE), a=(0, WRITE)), process(0, 5 * MB))
    assert shares["/a"].written_bytes == 5 * MB


def test_a_child_that_ended_is_not_counted_again_in_its_parent() -> None:
    child = process(8 * MB, a=(8 * MB, READ))
    shares = attributed({1: process(b=(0, READ)), 2: child}, {1: process(8 * MB, b=(0, READ))})
    assert {path: share.read_bytes for path, share in shares.items()} == {"/a": 8 * MB}
