"""What a Lustre is made of is found by an ordinary user, and becomes a description that is valid."""

import ctypes
import json
import struct
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from parameter_tree import DEBUG, PROC, SYS, client, lose_server, set_parameter, write_tree
from ses.cli import main
from ses.lustre import statfs
from ses.lustre.mounts import LustreMount, parse_mountinfo
from ses.lustre.parameters import Parameters
from ses.lustre.statfs import TargetStatfs
from ses.lustre.targets import gather
from ses_service.knowledge.site import parse, violations

MOUNTINFO = """\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
40 22 0:41 / /lu/ost0 rw - lustre /dev/vdc rw,svname=lustre-OST0000,mgsnode=10.0.2.15@tcp
41 22 1273:181606 / /mnt/lustre rw shared:20 - lustre 10.0.2.15@tcp:/lustre rw,checksum,flock
42 22 0:43 / /mnt/home\\040dirs rw - lustre 10.0.0.1@o2ib,10.0.0.2@o2ib:10.0.0.3@o2ib:/flash/home/all rw
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_client_mounts_are_told_from_targets() -> None:
    assert parse_mountinfo(MOUNTINFO.encode()) == [
        LustreMount("/mnt/lustre", "lustre"),
        LustreMount("/mnt/home dirs", "flash"),
    ]


@pytest.mark.parametrize("release", ["2.15", "2.17"])
def test_everything_is_found_whatever_the_release(tmp_path: Path, release: str) -> None:
    system = gather("lustre", "/mnt/lustre", Parameters(write_tree(tmp_path, release=release)))
    assert [target.index for target in system.targets] == [0, 1, 2, 3, 4, 5]
    assert system.pools == {"empty": (), "fast": (0, 1, 2), "slow": (3, 4), "small": (5,)}
    first = system.targets[0]
    assert (first.uuid, first.server, first.import_state) == ("lustre-OST0000_UUID", "0@lo", "FULL")
    assert (first.capacity_bytes, first.available_bytes) == (4076320 * 1024, 3803536 * 1024)
    assert (first.pools, first.active, first.usable) == (("fast",), True, True)


def test_user_without_debugfs_sees_all_but_the_imports(tmp_path: Path) -> None:
    system = gather("lustre", "/mnt/lustre", Parameters(write_tree(tmp_path, readable_debugfs=False)))
    assert {target.import_state for target in system.targets} == {None}
    assert all(target.usable and target.capacity_bytes and target.server for target in system.targets)


@pytest.mark.parametrize("release", ["2.15", "2.17"])
def test_target_of_a_server_that_is_down_is_not_usable(tmp_path: Path, release: str) -> None:
    root = write_tree(tmp_path, release=release)
    lose_server(root, 1, place=DEBUG if release == "2.17" else PROC)
    system = gather("lustre", "/mnt/lustre", Parameters(root))
    assert [(target.import_state, target.usable) for target in system.targets[:2]] == [
        ("FULL", True),
        ("DISCONN", False),
    ]


def test_idle_is_no_fault(tmp_path: Path) -> None:
    root = write_tree(tmp_path)
    set_parameter(root / DEBUG, "osc", client(2), "import", "import:\n    state: IDLE\n")
    set_parameter(root / SYS, "osc", client(2), "ost_conn_uuid", "<none>\n")
    two = gather("lustre", "/mnt/lustre", Parameters(root)).targets[2]
    assert (two.usable, two.server) == (True, "")


def test_deactivated_targets_are_not_usable(tmp_path: Path) -> None:
    root = write_tree(tmp_path)
    set_parameter(root / SYS, "osc", client(2), "active", "0\n")
    clilov = "lustre-clilov-ffff8930265bc000"
    text = (root / DEBUG / "lov" / clilov / "target_obd").read_text()
    set_parameter(
        root / DEBUG,
        "lov",
        clilov,
        "target_obd",
        text.replace("OST0004_UUID ACTIVE", "OST0004_UUID INACTIVE"),
    )
    system = gather("lustre", "/mnt/lustre", Parameters(root))
    assert [target.index for target in system.targets if not target.usable] == [2, 4]


@pytest.mark.parametrize(
    ("flags", "usable"), [("", True), ("f", True), ("D", False), ("N", False), ("Rf", False)]
)
def test_flags_say_whether_files_may_go_there(tmp_path: Path, flags: str, usable: bool) -> None:
    said = [TargetStatfs(0, "lustre-OST0000_UUID", True, 1 << 40, 1 << 39, flags)]
    first = gather("lustre", "/mnt/lustre", Parameters(write_tree(tmp_path)), said).targets[0]
    assert (first.usable, first.capacity_bytes) == (usable, 1 << 40)


def test_target_that_does_not_answer_is_kept_and_not_usable(tmp_path: Path) -> None:
    said = [TargetStatfs(3, "lustre-OST0003_UUID", False, 0, 0, "")]
    three = gather("lustre", "/mnt/lustre", Parameters(write_tree(tmp_path)), said).targets[3]
    assert (three.usable, three.capacity_bytes) == (False, 4076320 * 1024)


def test_statfs_of_the_client_is_read_as_it_lies_in_memory() -> None:
    # The numbers that a 2.17.0 gave for OST 0, in the order of struct obd_statfs.
    raw = struct.pack(
        "=6Q40s2IQ3I", 61267, 1019080, 1007457, 950884, 40192, 39845, b"", 4096, 255, 1 << 44, 0x201, 0, 0
    )
    target = statfs.parse_statfs(0, raw.ljust(144, b"\0"), b"lustre-OST0000_UUID\0rest")
    assert (target.uuid, target.capacity_bytes, target.available_bytes) == (
        "lustre-OST0000_UUID", 1019080 * 4096, 950884 * 4096,
    )  # fmt: skip
    assert target.flags == "Df"


def test_ioctl_asks_without_waiting_for_servers() -> None:
    raw = statfs.pack_ioctl(7, 0x1000, 0x2000)
    assert struct.unpack_from("=II", raw) == (592, 0x00010004)
    assert struct.unpack_from("=I4xQI4xQ", raw, 480) == (144, 0x1000, 40, 0x2000)
    assert struct.unpack_from("=I4xI", raw, 576) == (2 | 4, 7)


def test_library_is_asked_where_it_is_and_told_to_be_silent(tmp_path: Path) -> None:
    """A library with the two functions there have been since 2.9 and 2.4, which tells what it was asked."""
    source = tmp_path / "api.c"
    source.write_text(
        "#include <string.h>\n#include <errno.h>\n#include <stdint.h>\nstatic int level = 3;\n"
        "void llapi_msg_set_level(int to) { level = to; }\n"
        "int llapi_obd_fstatfs(int fd, uint32_t type, uint32_t index, uint64_t *stat, char *uuid) {\n"
        "  if (level != 0 || fd < 0 || type != 6) return -ENOTTY;\n"
        '  if (index == 1) return -EAGAIN;\n  if (index == 2) { strcpy(uuid, "u2"); return -ENODATA; }\n'
        "  if (index > 3) return -ENODEV;\n"
        '  strcpy(uuid, "u"); stat[1] = 10; stat[3] = 5; ((uint32_t *)stat)[22] = 4096; return 0;\n}\n'
    )
    library = tmp_path / "api.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=60)
    targets = list(statfs.ask_targets(tmp_path, ("no-such-library.so", str(library))))
    assert [(target.index, target.answers, target.capacity_bytes) for target in targets] == [
        (0, True, 40960), (2, False, 0), (3, True, 40960),
    ]  # fmt: skip


def test_where_there_is_no_lustre_nothing_is_said(tmp_path: Path) -> None:
    assert list(statfs.ask_targets(tmp_path, ())) == []
    assert ctypes.sizeof(ctypes.c_void_p) == 8


def test_command_lists_targets_and_writes_a_valid_description(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "root")
    lose_server(root, 1)
    written = tmp_path / "site.ttl"
    done = run("discover", "--lustre", "/mnt/lustre", "--parameters", root, "--turtle", written)
    assert done.exit_code == 0, done.output
    assert "DISCONN" in done.output
    assert "take" in done.output
    graph, _ = parse({str(written): written.read_text()}, str(written))
    assert violations(graph) == []
    text = written.read_text()
    assert text.count("a qsm:ObjectStorageTarget") == 6
    assert text.count("qsm:Inactive") == 1
    assert 'qsm:pool "small"' in text


def test_command_prints_json(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "root")
    done = run("discover", "--lustre", "/mnt/lustre", "--parameters", root, "--json")
    data = json.loads(done.output)
    assert [target["index"] for target in data["targets"] if target["usable"]] == [0, 1, 2, 3, 4, 5]
    assert (data["file_system"], data["version"]) == ("lustre", "2.17.0")


def test_path_off_lustre_is_reported(tmp_path: Path) -> None:
    done = run("discover", "--lustre", tmp_path)
    assert done.exit_code == 5
    assert "not on a Lustre file system" in done.output
