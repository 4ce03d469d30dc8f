"""``ses calibrate --node``: what a node gives is measured, told with date and method, and can be kept."""

import socket
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ses.commands.calibrate.node import turtle_of
from ses.node_calibration import NodeRates, address_of, io_links, measure_link, measure_node, receive
from ses_client.errors import SesError, UsageError
from ses_service.knowledge.checks.validation import validate

MIB = 2**20
NOW = datetime(2026, 11, 23, 7, 0, 0, tzinfo=UTC)


def test_copies_of_one_core_and_of_all_are_measured() -> None:
    measured = measure_node(4 * MIB, 2)
    assert measured.cores >= 1
    assert 0 < measured.core_copy <= measured.all_copy
    assert measured.memory_bus == 2 * measured.all_copy


def test_a_link_is_measured_by_what_the_peer_received() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        got: list[int] = []
        thread = threading.Thread(target=lambda: got.append(receive(server)))
        thread.start()
        rate = measure_link(server.getsockname(), 0.1)
        thread.join()
    assert got[0] > 0
    assert got[0] % MIB == 0
    assert rate > 0


def test_a_peer_that_is_not_there_is_reported_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = server.getsockname()
    with pytest.raises(SesError, match="--listen ADDRESS:PORT there first"):
        measure_link(gone, 0.1)


def test_what_was_measured_is_turtle_the_knowledge_base_takes() -> None:
    text = turtle_of("n 1", NodeRates(64, 8e9, 100e9, 12.5e9), NOW)
    assert validate(text, "node.ttl") == []
    assert 'qsm:calibratedAt "2026-11-23T07:00:00Z"' in text
    assert "qsm:calibrationMethod" in text
    assert "site/calibration/n-1>" in text
    assert "linkRate" not in turtle_of("n1", NodeRates(64, 8e9, 100e9), NOW)
    (finding,) = validate(text.replace("qsm:calibratedAt", "qsm:modifiedAt"), "node.ttl")
    assert "calibratedAt" in finding.message


def test_the_narrowest_link_on_the_way_to_a_device_is_its_io_bus(tmp_path: Path) -> None:
    bridge = tmp_path / "devices/pci0000:00/0000:00:01.0"
    for folder, speed, width in (
        (bridge, "8.0 GT/s PCIe", 2),
        (bridge / "0000:01:00.0", "16.0 GT/s PCIe", 4),
    ):
        folder.mkdir(parents=True)
        (folder / "current_link_speed").write_text(f"{speed}\n")
        (folder / "current_link_width").write_text(f"{width}\n")
    old = tmp_path / "devices/pci0000:00/0000:00:02.0"
    old.mkdir()
    (old / "current_link_speed").write_text("5.0 GT/s PCIe\n")
    (old / "current_link_width").write_text("1\n")
    (tmp_path / "devices/virtio0").mkdir()
    links = {
        "block/nvme0n1": bridge / "0000:01:00.0",
        "net/eth0": old,
        "net/eth1": tmp_path / "devices/virtio0",
    }
    for name, device in links.items():
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "device").symlink_to(device)
    assert io_links(tmp_path) == {
        "nvme0n1": pytest.approx(2 * 8e9 / 8 * 128 / 130),
        "eth0": pytest.approx(5e9 / 8 * 0.8),
    }


def test_an_address_is_a_host_and_a_port() -> None:
    assert address_of("n2:5201") == ("n2", 5201)
    assert address_of("[::1]:5201") == ("::1", 5201)
    for wrong in ("n2", ":5201", "n2:", "n2:port", "n2:70000"):
        with pytest.raises(UsageError, match="HOST:PORT"):
            address_of(wrong)


@pytest.mark.parametrize(
    "wrong", [("--peer", "a:1"), ("--node", "union/b1"), ("--node", "--peer", "a:1", "--listen", "b:2")]
)
def test_options_that_do_not_go_together_are_refused(ses: Any, wrong: tuple[str, ...]) -> None:
    assert ses("calibrate", *wrong).exit_code == 2


def test_the_command_prints_rates_and_turtle(ses: Any) -> None:
    result = ses("calibrate", "--node", code=0)
    assert "copying, one core" in result.stdout
    assert "instructions, all cores" in result.stdout
    assert "a qsm:NodeCalibration" in result.stdout
    assert ses.json("calibrate", "--node")["link"] is None
