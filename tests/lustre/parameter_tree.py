"""A client's /proc, /sys and debugfs, rebuilt from what `lctl get_param` printed on a Lustre 2.17.0.

The texts in samples-2.17.0/ are that output, unchanged; which file system each parameter is in, by
release, is written down here.
"""

import re
from pathlib import Path

SAMPLES = Path(__file__).parent / "samples-2.17.0"
PROC, SYS, DEBUG = "proc/fs/lustre", "sys/fs/lustre", "sys/kernel/debug/lustre"
INSTANCE = "ffff8930265bc000"

_ASSIGNED = re.compile(r"^([a-z]+)\.(\S+?)\.((?:pools\.)?\w+)=(.*)$")


def parse(text: str) -> dict[tuple[str, str, str], str]:
    """(kind, device, parameter) -> text, from the output of `lctl get_param`."""
    parameters: dict[tuple[str, str, str], list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        assigned = _ASSIGNED.match(line)
        if assigned:
            kind, device, parameter, value = assigned.groups()
            current = parameters.setdefault((kind, device, parameter), [value] if value else [])
        elif not line.startswith("#"):
            current.append(line)
    return {name: "".join(f"{line}\n" for line in lines) for name, lines in parameters.items()}


def place_of(parameter: str, release: str) -> str:
    """Where a parameter is: the table of the releases up to 2.16, and from 2.17 on."""
    if parameter.startswith("pools."):
        return PROC
    if parameter in ("import", "ost_server_uuid", "state", "rpc_stats", "target_obd"):
        return DEBUG if release >= "2.17" else PROC
    return SYS


def write_tree(root: Path, *, release: str = "2.17", readable_debugfs: bool = True) -> Path:
    """Write the tree; without debugfs it is what a user who is not root sees."""
    (root / SYS).mkdir(parents=True)
    (root / SYS / "version").write_text("2.17.0\n")
    for sample in ("osc_misc", "osc_import", "lov_pools", "lov_target_obd"):
        parameters = parse((SAMPLES / f"{sample}.txt").read_text())
        assert parameters, sample
        for (kind, device, parameter), text in parameters.items():
            place = place_of(parameter, release)
            if place == DEBUG and not readable_debugfs:
                continue
            set_parameter(root / place, kind, device, parameter.replace(".", "/"), text)
    return root


def set_parameter(place: Path, kind: str, device: str, parameter: str, text: str) -> None:
    """At once, as the kernel does: nobody reads it empty."""
    file = place / kind / device / parameter
    file.parent.mkdir(parents=True, exist_ok=True)
    written = place / ".written"
    written.write_text(text)
    written.replace(file)


def client(ost: int) -> str:
    """The client's device for an OST."""
    return f"lustre-OST{ost:04x}-osc-{INSTANCE}"


def lose_server(root: Path, ost: int, *, place: str = DEBUG) -> None:
    """Put in the import as it was seen when the server of an OST was down."""
    down = parse((SAMPLES / "osc_import_down.txt").read_text())
    (text,) = down.values()
    set_parameter(root / place, "osc", client(ost), "import", text.replace("OST0001", f"OST{ost:04x}"))
