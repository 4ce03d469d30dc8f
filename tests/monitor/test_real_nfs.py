"""Real NFS mounts, in a machine that mounts them: what collectors say of them, and how they are described."""

import json
import sys
from pathlib import Path

import pytest
from nfs_machine import SERVER, nfs_machine

pytestmark = [pytest.mark.long, pytest.mark.root]

HOME, SCRATCH = "/mnt/home/tmp", "/mnt/scratch"
# What is seen before and after 20 MiB are written to one export, by both ways.
LOOK = f"""
import json, os, subprocess, time, urllib.request
from dataclasses import asdict
from smed_monitor.collectors.registry import COLLECTORS
from smed_monitor.config.settings import ElementSettings, Target
from ses.place.described import look, turtle

PATHS = ("{HOME}", "{SCRATCH}")
URL = "http://127.0.0.1:9100/metrics"
exporter = subprocess.Popen(["prometheus-node-exporter", "--collector.disable-defaults",
    "--collector.mountstats", "--collector.filesystem",
    "--collector.filesystem.mount-points-exclude=^/(dev|proc|sys)($|/)",
    "--web.listen-address=127.0.0.1:9100"], stderr=subprocess.DEVNULL)
os.mkdir(PATHS[0])
for _ in range(600):
    try:
        urllib.request.urlopen(URL).read()
        break
    except OSError:
        time.sleep(0.1)
sources = {{
    "directories": COLLECTORS["directories"].open(
        Target(name="d", collector="directories", paths=PATHS, timeout_seconds=20)),
    "node_exporter": COLLECTORS["node_exporter"].open(
        Target(name="n", collector="node_exporter", url=URL, timeout_seconds=20)),
}}
points = {{"directories": PATHS, "node_exporter": ("/mnt/home", "/mnt/scratch")}}

def seen():
    readings = {{}}
    for name, source in sources.items():
        collector = COLLECTORS[name]
        sample = collector.parse(source.read().body)
        elements = [ElementSettings(id="s/e", target="t", mount_point=point) for point in points[name]]
        readings[name] = [asdict(collector.reading(sample, element)) for element in elements]
    return readings

before = seen()
with open(PATHS[0] + "/x", "wb") as file:
    file.write(bytes(20 << 20))
    os.fsync(file.fileno())
after = seen()
page = urllib.request.urlopen(URL).read().decode()
print(json.dumps({{"before": before, "after": after, "turtle": turtle(look("net", PATHS)), "page": page}}))
"""


def test_load_of_nfs_is_seen_by_the_monitor_and_through_node_exporter(tmp_path: Path) -> None:
    with nfs_machine(tmp_path, "home", "scratch") as machine:
        said = machine.run(f"{sys.executable} - <<'END'\n{LOOK}\nEND\n")
    seen = json.loads(said.splitlines()[-1])
    for name in ("directories", "node_exporter"):
        (before, idle), (after, shared) = seen["before"][name], seen["after"][name]
        assert after["written_bytes"] - before["written_bytes"] == 20 << 20, name
        assert after["busy_seconds"] > before["busy_seconds"]
        assert after["request_seconds"] > before["request_seconds"]
        assert after["operations"] > before["operations"]
        assert after["size_bytes"] == idle["size_bytes"] > 0
        assert shared["written_bytes"] == after["written_bytes"], "the exports are one file system"
    assert {directory["device"] for directory in seen["after"]["directories"]} == {f"nfs {SERVER}"}
    assert {mount["device"] for mount in seen["after"]["node_exporter"]} == {
        f"nfs {SERVER}:/home", f"nfs {SERVER}:/scratch",
    }  # fmt: skip
    assert seen["turtle"].count('qsm:device "nfs"') == 2
    assert f'qsm:fileSystem "nfs4 {SERVER}:/home"' in seen["turtle"]
    assert seen["turtle"].count("a qsm:Server") == 1
