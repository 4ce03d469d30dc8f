"""A fake of the agent's side of ses/rules.h, with offsets written out by hand."""

import struct
from pathlib import Path

from segments import ALIVE, Segment, fnv1a, key_of

MAGIC, VERSION, SIZE = 0x454C5552, 1, 16384
STATE_AT = 24
NOBODY_AT_ALL = (1 << 32) - 1

_RULES = struct.Struct("=IHHQQI36x 4032s 8192s 4096s")
assert _RULES.size == SIZE


class FakeRules(Segment):
    """The segment of root; removed by close()."""

    def __init__(
        self,
        socket: Path,
        *,
        include: str = "",
        exclude: str = "",
        programs: str = "",
        mode: int = 0o644,
        owner: int = 0,
        size: int = SIZE,
        magic: int = MAGIC,
        version: int = VERSION,
    ) -> None:
        super().__init__(key_of(socket, NOBODY_AT_ALL), size, mode, owner)
        texts = (text.encode() for text in (include, exclude, programs))
        data = _RULES.pack(magic, version, 64, SIZE, fnv1a(str(socket)), ALIVE, *texts)
        self.write(0, data[:size])

    def set_state(self, state: int) -> None:
        self.put32(STATE_AT, state)
