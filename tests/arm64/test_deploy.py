"""A program of libses-offload deployed to a node of another architecture, which qemu plays."""

import json
from pathlib import Path

import pytest
from emulation import ARM64, BUILT, ROOT
from offload_programs import answers, prefix, run, ses_as_plain_user
from ran import ran

__all__ = ["prefix"]
pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
CHAINED = ROOT / "tests/extras/offload/chained.c"
COMPILER = """#!/bin/sh
root={root}
export LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu PATH=$root/usr/bin:$root/usr/aarch64-linux-gnu/bin:$PATH
exec aarch64-linux-gnu-gcc --sysroot=$root "$@" -I{include} -L{library} -lses-offload \\
  -Wl,--allow-shlib-undefined
"""


@pytest.mark.usefixtures("arm64")
def test_functions_run_on_a_node_of_another_architecture(prefix: Path) -> None:
    folder = prefix / "deployed"
    folder.mkdir()
    folder.chmod(0o777)
    compiler = prefix / "compiler"
    compiler.write_text(
        COMPILER.format(root=ARM64 / "root", include=ROOT / "libses/extras/include", library=BUILT)
    )
    compiler.chmod(0o755)
    library = next(prefix.glob("lib*/**/libses-offload.so")).parent
    runner = f"qemu-aarch64 -L {ARM64 / 'root'} -E LD_LIBRARY_PATH={BUILT}"
    environment = {
        "HOME": str(folder), "TMPDIR": str(folder), "LD_LIBRARY_PATH": str(library),
        "PKG_CONFIG_PATH": str(library / "pkgconfig"),
    }  # fmt: skip
    words = [
        "deploy", "chained", CHAINED, "--node", "127.0.0.1", "--node", "127.0.0.2", "--to", folder / "there",
        "--machine", "127.0.0.2=aarch64", "--compiler", f"aarch64={compiler}",
        "--runner", f"aarch64={runner}", "--rsh", "env NODE=%n", "--json",
    ]  # fmt: skip
    done = ses_as_plain_user("offload", *words, folder=folder, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [node["error"] for node in json.loads(done.stdout)["nodes"]] == ["", ""]
    listed = ran(["readelf", "-h", folder / "there/chained.binary"], code=None)
    assert "AArch64" in listed.stdout
    said = answers(run(folder / "chained", "command:127.0.0.2", "0", "env NODE=%n", **environment))
    assert said == {"open": "0", "reason": "", "call": "0", "said": "127.0.0.2"}
