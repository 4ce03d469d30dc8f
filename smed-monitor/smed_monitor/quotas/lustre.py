"""Quotas of Lustre, as the server of its first MDT shows them in files (``qmt.*.dt-0x0.glb-*``).

``used`` is what was granted to the OSTs: what is stored, and at most a few hundred MB for each OST more.  A
soft limit counts where there is no hard one.  An owner with neither has no quota.  Quotas of pools and of the
number of files are not read.
"""

import re
from collections.abc import Callable
from pathlib import Path

from smed_monitor.collectors.lustre_text import ROOTS
from smed_monitor.core.quotas import Kind, Quota

_KINDS = {"glb-usr": Kind.USER, "glb-grp": Kind.GROUP, "glb-prj": Kind.PROJECT}
_ENTRY = re.compile(r"^- id:\s+(\d+)\s*$", re.MULTILINE)
_FIELD = re.compile(r"\b(hard|soft|granted):\s*(\d+)")
_KIB = 1024.0
MAX_BYTES = 64 * 2**20

Names = Callable[[Kind, int], str]


def read(root: Path, name_of: Names, at: float) -> list[Quota]:
    """Return the quotas of all Lustres whose first MDT is mounted on this server; none elsewhere."""
    quotas: list[Quota] = []
    for folder in (root / tree for tree in ROOTS):
        for path in sorted(folder.glob("qmt/*-QMT*/dt-0x0/glb-*")):
            kind = _KINDS.get(path.name)
            if kind is None:
                continue
            try:
                with path.open("rb") as file:
                    text = file.read(MAX_BYTES).decode("utf-8", "replace")
            except OSError:
                continue
            filesystem = path.parent.parent.name.rpartition("-QMT")[0]
            quotas += [
                Quota(filesystem, kind, number, name_of(kind, number), used, limit, at)
                for number, used, limit in limits(text)
            ]
    return quotas


def limits(text: str) -> list[tuple[int, float, float]]:
    """Return number, bytes granted and limit in bytes of those who have a limit."""
    limited = []
    _before, *parts = _ENTRY.split(text)
    for number, entry in zip(parts[::2], parts[1::2], strict=True):
        fields = {name: int(value) for name, value in _FIELD.findall(entry)}
        limit = fields.get("hard") or fields.get("soft")
        if limit and int(number):  # number 0 has the defaults, or is root
            limited.append((int(number), fields.get("granted", 0) * _KIB, limit * _KIB))
    return limited
