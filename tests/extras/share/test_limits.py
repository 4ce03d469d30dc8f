"""What the kernel does not have any more: memory, address space, segments, room in /dev/shm."""

import errno
import json
import multiprocessing
import os
import resource
import subprocess
from pathlib import Path

import pytest
from ran import ran
from ses.share import Region, regions
from sharing import command_of, refused

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces: needs root")


@as_root
def test_node_has_as_many_regions_as_the_kernel_allows_and_one_more_is_refused(name: str) -> None:
    command = ["unshare", "--ipc", *command_of("make-all", name)]
    said = json.loads(ran(command).stdout)
    assert said == {"made": 10_000, "whole": True, "refusal": errno.ENOSPC, "left": 0}


def have_no_address_space(name: str) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + (64 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with refused(errno.ENOMEM):
        Region.open(name)
    with refused(errno.ENOMEM):
        Region.create(f"{name}-own", size=1 << 30)


def test_process_without_address_space_is_told_so_and_leaves_nothing(name: str) -> None:
    with Region.create(name, size=1 << 30):
        child = multiprocessing.get_context("fork").Process(target=have_no_address_space, args=(name,))
        child.start()
        child.join(60)
        Region.remove(name)
    assert child.exitcode == 0
    assert f"{name}-own" not in {region.name for region in regions()}


@as_root
def test_full_dev_shm_is_nothing_to_a_region(name: str) -> None:
    """A file there would be made, and its first writer killed by SIGBUS."""
    fill = "mount -t tmpfs -o size=16k tmpfs /dev/shm; head -c 16k /dev/zero >/dev/shm/full; exec "
    made = ["unshare", "--mount", "sh", "-c", fill + '"$@"', "sh", *command_of("make", name)]
    subprocess.run(made, check=True)
    with Region.open(name) as region:
        Region.remove(name)
        assert region.alloc("item", 1 << 18).put(bytes(1 << 18)) == 1
