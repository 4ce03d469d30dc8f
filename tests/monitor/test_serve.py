"""The real command on the real node_exporter: rates move, faults show, and it stops cleanly."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
from invoked import invoked
from mounts import unmount
from patience import listens, wait_for_answer, wait_until
from ports import free_port
from ran import ran
from ses.demo.exporter import exporter_options
from smed_monitor.cli import main

NODE_EXPORTER = shutil.which("prometheus-node-exporter")


class Served:
    """A running ``smed-monitor serve`` and how to ask it."""

    def __init__(self, config: Path, log: Path, *options: str) -> None:
        program = str(Path(sys.executable).parent / "smed-monitor")
        command = [program, "serve", "--listen", "127.0.0.1:0", *options]
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen([*command, "--config", str(config)], stderr=output)
        self.http = urllib3.PoolManager(timeout=60, retries=False)
        self.url = ""

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def listening(self) -> bool:
        self.url = next((e["url"] for e in self.events() if e["event"] == "listening"), "")
        return bool(self.url)

    def get(self, path: str) -> Any:
        return self.http.request("GET", self.url + path).json()

    def element(self, name: str) -> dict[str, Any]:
        observed = {each["element"]: each for each in self.get("/v1/observations")["observations"]}
        return observed[f"union/{name}"]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Start a monitor of the given element -> mount point at one exporter."""
    started: list[Served] = []

    def start(url: str, interval: float = 0.2, stale_after: float = 60.0, **elements: Path | str) -> Served:
        config = tmp_path / "smed.toml"
        config.write_text(
            f"interval_seconds = {interval}\nstale_after_seconds = {max(stale_after, 2 * interval)}\n"
            f'[[target]]\nname = "n1"\ncollector = "node_exporter"\nurl = "{url}"\ntimeout_seconds = 30\n'
            + "".join(
                f'[[element]]\nid = "union/{name}"\ntarget = "n1"\nmount_point = "{mount_point}"\n'
                for name, mount_point in elements.items()
            )
        )
        served = Served(config, tmp_path / "serve.log")
        started.append(served)
        wait_for_answer(served.process, served.log, served.listening)
        return served

    yield start
    for each in started:
        if each.process.poll() is None:
            each.stop()


@pytest.fixture
def node_exporter(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start Debian's node_exporter on a port; the caller may kill and start it again."""
    if NODE_EXPORTER is None:
        pytest.skip("prometheus-node-exporter is not installed")
    started: list[subprocess.Popen[bytes]] = []

    def start(port: int) -> subprocess.Popen[bytes]:
        command = [str(NODE_EXPORTER), f"--web.listen-address=127.0.0.1:{port}", *exporter_options(tmp_path)]
        started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        wait_until(lambda: listens(port), "node_exporter answers")
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def branch(tmp_path: Path) -> Iterator[Path]:
    """An ext4 file system on a loop device of its own."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    image, mount_point = tmp_path / "b1.img", tmp_path / "b1"
    mount_point.mkdir()
    with image.open("wb") as file:
        file.truncate(64 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    mounted = ran(["mount", "-o", "loop", image, mount_point], code=None)
    if mounted.returncode != 0:
        pytest.skip(f"loop devices cannot be mounted here: {mounted.stderr.strip()}")
    yield mount_point
    unmount(mount_point)


def write(directory: Path, mebibytes: int) -> None:
    """Write a file through to the device."""
    with (directory / "file").open("wb") as file:
        for _ in range(mebibytes):
            file.write(os.urandom(2**20))
        file.flush()
        os.fsync(file.fileno())


@pytest.mark.root
def test_writing_to_a_loop_device_moves_its_write_rate_and_free_space(
    serve: Any, node_exporter: Any, port: int, branch: Path
) -> None:
    node_exporter(port)
    monitor = serve(f"http://127.0.0.1:{port}/metrics", b1=branch)
    wait_until(lambda: monitor.element("b1")["write_bytes_per_second"]["current"] is not None, "two samples")
    before = monitor.element("b1")
    assert before["state"] == "ok"
    assert 50e6 < before["size_bytes"] < 64 * 2**20

    write(branch, 16)

    def rate() -> float:
        return float(monitor.element("b1")["write_bytes_per_second"]["current"])

    def written() -> float:
        return float(before["free_bytes"] - monitor.element("b1")["free_bytes"])

    wait_until(lambda: written() >= 16 * 2**20, "the write shows in the free space")
    assert written() < 17 * 2**20

    def moves() -> bool:
        write(branch, 16)  # again: two seconds may pass unseen
        return rate() > 1e6

    wait_until(moves, "the write shows in the current rate")
    assert monitor.element("b1")["write_bytes_per_second"]["average"] > 0
    wait_until(lambda: rate() < 1e5, "an idle element's current rate falls")
    assert monitor.element("b1")["state"] == "ok"


@pytest.mark.root
def test_an_unmounted_element_is_missing_and_comes_back(
    serve: Any, node_exporter: Any, port: int, branch: Path
) -> None:
    node_exporter(port)
    monitor = serve(f"http://127.0.0.1:{port}/metrics", b1=branch)
    wait_until(lambda: monitor.element("b1")["state"] == "ok", "it is seen")
    unmount(branch)
    wait_until(lambda: monitor.element("b1")["state"] == "missing", "it is missed")
    assert "reports no file system at" in monitor.element("b1")["detail"]
    assert monitor.element("b1")["free_bytes"] is None
    subprocess.run(["mount", "-o", "loop", branch.with_suffix(".img"), branch], check=True)
    wait_until(lambda: monitor.element("b1")["state"] == "ok", "it is back")


@pytest.mark.root
def test_a_dead_exporter_makes_elements_stale_and_a_restarted_one_makes_them_ok(
    serve: Any, node_exporter: Any, port: int, branch: Path
) -> None:
    exporter = node_exporter(port)
    monitor = serve(f"http://127.0.0.1:{port}/metrics", stale_after=1.0, b1=branch)
    wait_until(lambda: monitor.element("b1")["state"] == "ok", "the file system is seen")
    kept = monitor.element("b1")["size_bytes"]
    exporter.kill()
    exporter.wait()
    wait_until(lambda: monitor.element("b1")["state"] == "stale", "it goes stale")
    stale = monitor.element("b1")
    assert stale["age_seconds"] > 1.0
    assert stale["size_bytes"] == kept
    wait_until(lambda: "Connection refused" in monitor.element("b1")["detail"], "it says why")
    stale = monitor.element("b1")
    node_exporter(port)
    wait_until(lambda: monitor.element("b1")["state"] == "ok", "it recovers")

    def said() -> list[str]:
        return [event["event"] for event in monitor.events()]

    wait_until(lambda: "target-recovered" in said(), "it is said")
    assert said().index("target-failed") < said().index("target-recovered")


def test_long_waits_do_not_hold_up_other_questions_and_end_when_it_stops(
    serve: Any, exporter: Any, answer_whole: Any, page: Any
) -> None:
    exporter.answer = answer_whole(page("before"))
    monitor = serve(exporter.url, interval=3600, b1="/srv/qstorman/b1")
    wait_until(lambda: monitor.element("b1")["state"] == "ok", "the only scrape for an hour")
    sequence = monitor.get("/v1/observations")["sequence"]
    ended: list[Any] = []

    sent = threading.Semaphore(0)

    def wait() -> None:
        connection = http.client.HTTPConnection(monitor.url.removeprefix("http://"), timeout=60)
        connection.request("GET", f"/v1/observations?wait=30&after={sequence}")
        sent.release()
        ended.append(json.load(connection.getresponse()))

    def health() -> str:
        """Over a connection that stands in line behind those of the waits."""
        url = f"{monitor.url}/healthz"
        answer = urllib3.PoolManager(timeout=60, retries=False).request("GET", url).json()
        return str(answer["status"])

    begun = time.monotonic()
    waits = [threading.Thread(target=wait, daemon=True) for _ in range(20)]
    for thread in waits:
        thread.start()
    assert all(sent.acquire(timeout=60) for _ in waits)
    assert [health() for _ in range(20)] == ["ok"] * 20
    assert not ended or time.monotonic() - begun > 30
    assert monitor.stop() == 0
    for thread in waits:
        thread.join(timeout=60)
    assert [answer["sequence"] for answer in ended] == [sequence] * 20
    assert monitor.events()[-1]["event"] == "stopped"


def test_history_survives_a_restart(tmp_path: Path, exporter: Any, answer_whole: Any, page: Any) -> None:
    exporter.answer = answer_whole(page("before"))
    config, state = tmp_path / "smed.toml", tmp_path / "state"
    state.mkdir()
    config.write_text(
        "interval_seconds = 0.2\ncurrent_window_seconds = 0.2\nstale_after_seconds = 30\n"
        f'[[target]]\nname = "n1"\ncollector = "node_exporter"\nurl = "{exporter.url}"\n'
        "timeout_seconds = 10\n"
        '[[element]]\nid = "union/b1"\ntarget = "n1"\nmount_point = "/srv/qstorman/b1"\n'
        "[history]\nperiod_seconds = 0.4\npoints = 1000\n"
    )

    def run(name: str) -> Served:
        served = Served(config, tmp_path / name, "--state-dir", str(state))
        wait_for_answer(served.process, served.log, served.listening)
        return served

    def times(served: Served) -> list[float]:
        answer = served.get("/v1/history?element=union/b1&step=0.4")
        assert answer["source"] == "memory"
        return [point["at"] for point in answer["points"]]

    first = run("first.log")
    wait_until(lambda: len(times(first)) >= 2, "two points are recorded")
    before = times(first)
    assert first.stop() == 0
    second = run("second.log")
    try:
        assert times(second)[:2] == before[:2]
        assert "state-taken-up" in [event["event"] for event in second.events()]
        (state / "monitor.state").write_bytes(b"torn")
        wait_until(lambda: len(times(second)) > len(before), "it goes on")
    finally:
        assert second.stop() == 0
    assert (state / "monitor.state").stat().st_size > 100


def test_a_taken_port_ends_the_command_with_a_message(tmp_path: Path, exporter: Any) -> None:
    config = tmp_path / "smed.toml"
    config.write_text(
        f'[[target]]\nname = "n1"\ncollector = "node_exporter"\nurl = "{exporter.url}"\n'
        '[[element]]\nid = "union/b1"\ntarget = "n1"\ndevice = "sda"\n'
    )
    listen = exporter.url.removeprefix("http://").removesuffix("/metrics")
    command = [Path(sys.executable).parent / "smed-monitor", "serve", "--config", config, "--listen", listen]
    ended = ran(command, code=1)
    assert "in use" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_state_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "smed.toml").write_text('[[target]]\nname = "n"\ncollector = "statvfs"\n')
    (tmp_path / "file").touch()
    arguments = [
        "serve",
        "--config",
        str(tmp_path / "smed.toml"),
        "--state-dir",
        str(tmp_path / "file" / "x"),
    ]
    result = invoked(main, arguments, code=2)
    assert "cannot be made: Not a directory" in result.output
