"""A machine of its own with a kernel of the distribution: that of this one may lack what is tried.

It runs in qemu and sees this host's files, read-only (virtiofs), so that it runs the programs that lie here.
"""

import gzip
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from patience import wait_until
from ran import ran

VIRTIOFSD = "/usr/lib/qemu/virtiofsd"
PROGRAMS = ("qemu-system-x86_64", VIRTIOFSD, "busybox", "apt-get")
ADDRESS, HOST = "10.0.2.15", "10.0.2.2"  # the machine's, and this host's as the machine sees it
_MODULES = ("virtio_pci", "virtio_net", "virtiofs")
_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in $(cat /modules); do insmod /$module; done
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
mount -t virtiofs -o ro host /host
@BEFORE@
mount -t tmpfs none /new; cd /new; mkdir proc sys dev tmp run mnt
for folder in @FOLDERS@; do mkdir $folder; mount --bind /host/$folder $folder; done
for folder in bin sbin lib lib64; do ln -s usr/$folder $folder; done
for folder in proc sys dev; do mount --move /$folder $folder; done
@AFTER@
cp /script tmp/script
cat >tmp/main <<'END'
export HOME=/tmp PATH=/usr/sbin:/usr/bin
echo @BEGIN@; bash /tmp/script 2>&1; echo "@END@ $?"; echo o >/proc/sysrq-trigger; sleep 60
END
exec switch_root /new /bin/bash /tmp/main
"""


class Machine:
    """Runs scripts, each in a machine that is started for it.

    Its kernel is the one ``kernel`` depends on, with ``modules``; lines of sh prepare it: ``before`` its
    files are in their places, in ``/``, and ``after`` that, in what becomes its root.
    """

    def __init__(
        self, folder: Path, modules: Sequence[str], kernel: str = "linux-image-cloud-amd64",
        before: str = "", after: str = "",
    ) -> None:  # fmt: skip
        self._folder = folder
        self._before, self._after = before, after
        self._files = folder / "files"
        self._kernel, self._modules = _kernel(folder, kernel, (*_MODULES, *modules))

    def run(self, script: str) -> str:
        """Return what a script of bash prints, which must end well."""
        image = self._folder / "initramfs"
        image.write_bytes(gzip.compress(self._packed(script), 1))
        command = [
            "qemu-system-x86_64", "-accel", "tcg", "-m", "1024", "-nographic", "-no-reboot",
            "-object", "memory-backend-memfd,id=memory,size=1024M,share=on", "-numa", "node,memdev=memory",
            "-chardev", f"socket,id=files,path={self._files}",
            "-device", "vhost-user-fs-pci,chardev=files,tag=host",
            "-nic", "user,model=virtio-net-pci", "-kernel", self._kernel, "-initrd", image,
            "-append", "console=ttyS0 quiet panic=-1",
        ]  # fmt: skip
        files = [VIRTIOFSD, f"--socket-path={self._files}", "-o", "source=/,sandbox=chroot,log_level=err"]
        with subprocess.Popen(files, stderr=subprocess.DEVNULL) as serving:
            try:
                wait_until(self._files.exists, "the files of this host are served")
                done = ran(command, stdin=subprocess.DEVNULL)
            finally:
                serving.kill()
                self._files.unlink(missing_ok=True)
        match = re.search(r"@BEGIN@\n(.*)@END@ (\d+)", done.stdout.replace("\r", ""), re.DOTALL)
        assert match, done.stdout + done.stderr
        assert match[2] == "0", done.stdout
        return match[1]

    def _packed(self, script: str) -> bytes:
        tree = self._folder / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        for name in ("bin", "proc", "sys", "dev", "host", "mnt", "new"):
            (tree / name).mkdir(parents=True)
        shutil.copy(shutil.which("busybox") or "", tree / "bin/busybox")
        for module in self._modules:
            shutil.copy(module, tree)
        (tree / "modules").write_text(" ".join(module.name for module in self._modules))
        (tree / "script").write_text(script)
        init = _INIT.replace("@BEFORE@", self._before).replace("@AFTER@", self._after)
        folders = {"usr", "etc", *(path.parts[1] for path in (Path(sys.prefix), Path(sys.base_prefix)))}
        init = init.replace("@FOLDERS@", " ".join(sorted(folders)))
        (tree / "init").write_text(init)
        (tree / "init").chmod(0o755)
        names = subprocess.run(["find", "."], cwd=tree, capture_output=True, check=True).stdout
        packing = ["busybox", "cpio", "-o", "-H", "newc"]
        return subprocess.run(packing, cwd=tree, input=names, capture_output=True, check=True).stdout


def _kernel(folder: Path, kernel: str, modules: Sequence[str]) -> tuple[Path, list[Path]]:
    """Return a kernel of the distribution, and the modules to load, in their order."""
    depends = ran(["apt-cache", "depends", kernel]).stdout
    package = re.findall(r"Depends: (linux-image-\S+)", depends)[0]
    unpacked = folder / "kernel"
    subprocess.run(["apt-get", "download", package], cwd=folder, check=True, capture_output=True)
    subprocess.run(["dpkg", "-x", next(folder.glob(f"{package}_*.deb")), unpacked], check=True)
    have = {path.stem.replace("-", "_"): path for path in unpacked.rglob("*.ko")}
    ordered: list[Path] = []

    def add(name: str) -> None:
        path = have[name]
        needed = re.search(rb"\0depends=([^\0]*)", path.read_bytes())
        for other in filter(None, (needed[1] if needed else b"").decode().replace("-", "_").split(",")):
            add(other)
        if path not in ordered:
            ordered.append(path)

    for name in modules:
        add(name)
    return next((unpacked / "boot").glob("vmlinuz-*")), ordered
