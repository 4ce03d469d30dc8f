"""READ2's put and get: a node's memory and the disk of another one, past all processes of that one.

The disk is given out by the kernel of its node (NVMe over Fabrics) and reached by RDMA, with a software
device (rxe), in a machine whose kernel has both; the node reads and writes it by O_DIRECT.
"""

import os
import shutil
from pathlib import Path

import pytest
from virtual_machine import ADDRESS, PROGRAMS, Machine

MIB = 8
_SCRIPT = f"""
set -e
rdma link add rxe0 type rxe netdev eth0
mount -t configfs none /sys/kernel/config
cd /sys/kernel/config/nvmet
mkdir -p subsystems/disk/namespaces/1 ports/1
echo 1 >subsystems/disk/attr_allow_any_host
echo -n /dev/ram0 >subsystems/disk/namespaces/1/device_path
echo 1 >subsystems/disk/namespaces/1/enable
for of in trtype=rdma adrfam=ipv4 traddr={ADDRESS} trsvcid=4420; do
  echo ${{of#*=}} >ports/1/addr_${{of%=*}}
done
ln -s /sys/kernel/config/nvmet/subsystems/disk ports/1/subsystems/disk
echo transport=rdma,traddr={ADDRESS},trsvcid=4420,nqn=disk >/tmp/wanted
cat /tmp/wanted >/dev/nvme-fabrics
until test -b /dev/nvme0n1; do sleep 0.1; done
cat /sys/class/nvme/nvme0/transport
head -c {MIB}M /dev/urandom >/tmp/value
dd if=/tmp/value of=/dev/nvme0n1 bs=1M oflag=direct status=none     # put
dd if=/dev/nvme0n1 of=/tmp/got bs=1M count={MIB} iflag=direct status=none  # get
cmp /tmp/value /tmp/got && cmp -n {MIB}M /tmp/value /dev/ram0 && echo the same on both nodes
"""


@pytest.mark.root
@pytest.mark.long
def test_a_disk_is_read_and_written_past_the_processes_of_its_node(tmp_path: Path) -> None:
    missing = [name for name in (*PROGRAMS, "rdma") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"a machine with a software RDMA device takes root and {', '.join(missing)}")
    modules = ["crc32_generic", "crc32c_generic", "configfs", "brd", "rdma_rxe", "nvmet_rdma", "nvme_rdma"]
    printed = Machine(tmp_path, modules, "linux-image-amd64").run(_SCRIPT)
    assert printed.splitlines()[0] == "rdma"
    assert "the same on both nodes" in printed
