"""Shared values by RDMA: the provider verbs over a software device (rxe), in a machine that has it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from built import BUILD
from virtual_machine import ADDRESS, PROGRAMS, Machine

ROOT = Path(__file__).resolve().parents[3]
_SCRIPT = f"""
set -e
rdma link add rxe0 type rxe netdev eth0
rdma link
ulimit -l unlimited
# An endpoint's queues must fit into what the device offers.
export FI_UNIVERSE_SIZE=4 FI_OFI_RXM_MSG_TX_SIZE=128 FI_OFI_RXM_MSG_RX_SIZE=128
export LD_LIBRARY_PATH={BUILD} SES_MUNGE_SOCKET=/tmp/munge/socket
mkdir /tmp/munge; chmod 755 /tmp /tmp/munge; head -c 1024 /dev/urandom >/tmp/munge/key
chmod 400 /tmp/munge/key
munged --force --num-threads=2 --origin=127.0.0.1 --key-file=/tmp/munge/key --socket=/tmp/munge/socket \\
  --pid-file=/tmp/munge/pid --seed-file=/tmp/munge/seed --log-file=/tmp/munge/log
{BUILD}/extras/share/ses-share-agent --listen {ADDRESS}:8635 --provider 'verbs;ofi_rxm' 2>/tmp/said &
until grep -q 'listens on' /tmp/said; do sleep 0.1; done
for attempt in 1 2 3 4 5; do /mnt/probe {ADDRESS}:8635 && break; done  # it is emulated, and may be slow
kill %1
"""


@pytest.mark.root
@pytest.mark.long
def test_values_travel_by_verbs(tmp_path: Path) -> None:
    missing = [name for name in (*PROGRAMS, "rdma", "munged") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"a machine with a software RDMA device takes root and {', '.join(missing)}")
    probe = tmp_path / "probe"
    library = ("-I", ROOT / "libses/extras/include", "-L", BUILD, "-lses-share")
    subprocess.run(["gcc", "-o", probe, Path(__file__).with_name("rdma_probe.c"), *library], check=True)
    modules = ["crc32_generic", "rdma_rxe", "ib_uverbs", "rdma_ucm"]
    machine = Machine(tmp_path, modules, "linux-image-amd64", after=f"cp /host{probe} mnt/probe")
    printed = machine.run(_SCRIPT)
    assert "link rxe0/1 state ACTIVE" in printed
    assert "3 values of up to 300000 bytes came back whole" in printed
