"""The inputs the fuzzer starts from; run as a program, this writes them (after a change of their format).

Each is a choice of 16 bytes (see fuzz/layout_fuzzer.c) and a layout of a kind Lustre makes.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import lov_blobs as lov

PFL = lov.composite(
    [
        lov.Part(lov.plain(count=1, pool="fast"), 0, 1 << 26),
        lov.Part(lov.plain(count=4), 1 << 26, 1 << 30),
        lov.Part(lov.plain(count=0xFFFF, pool="slow"), 1 << 30, lov.EOF),
    ]
)
DOM = lov.composite(
    [
        lov.Part(lov.plain(count=0, size=65536, pattern=lov.MDT), 0, 65536),
        lov.Part(lov.plain(count=1), 65536, lov.EOF),
    ]
)
MIRRORED = lov.composite(
    [
        lov.Part(lov.plain(count=2, pool="fast"), 0, lov.EOF, id=1),
        lov.Part(lov.plain(count=2), 0, lov.EOF, id=65537),
    ],
    mirrors=2,
    flags=1,
)
SEL = lov.composite(
    [
        lov.Part(lov.plain(count=1, pool="fast"), 0, 1 << 26),
        lov.Part(lov.plain(count=1, pool="fast", size=65536), 1 << 26, 1 << 30, flags=lov.EXTENSION),
        lov.Part(lov.plain(count=2, pool="slow"), 1 << 30, lov.EOF),
    ]
)
INSTANTIATED = lov.composite(
    [
        lov.Part(lov.plain(pool="fast", osts=[1], offset=1), 0, 1 << 26, flags=lov.INIT, id=1),
        lov.Part(lov.plain(count=2, pool="slow"), 1 << 26, lov.EOF, id=2),
    ],
    gen=2,
)
FOREIGN = lov.composite(
    [
        lov.Part(lov.FOREIGN.to_bytes(4, "little") + b"\x10\0\0\0" + bytes(24), 0, lov.EOF),
        lov.Part(lov.plain(count=1), 0, lov.EOF),
    ],
    mirrors=2,
)
LAYOUTS = {
    "nothing": b"",
    "index": lov.CAPTURED_INDEX,
    "pool": lov.CAPTURED_POOL,
    "specific": lov.plain(specific=True, pool="", osts=[5, 3], offset=5),
    "striped-file": lov.plain(osts=[2, 0, 3, 4, 1, 5], size=4 << 20),
    "pfl": PFL,
    "dom": DOM,
    "mirrored": MIRRORED,
    "sel": SEL,
    "instantiated": INSTANTIATED,
    "foreign": FOREIGN,
}
CHOICES = {
    "pool": b"flash\0\0\0" + bytes([1, 0, 0, 0, 200, 0, 0, 0]),
    "list": bytes(8) + bytes([2, 3, 0, 16, 200, 0, 0, 0]),
    "offset": bytes(8) + bytes([3, 1, 2, 0, 200, 0, 0, 0]),
}

if __name__ == "__main__":
    corpus = Path(__file__).parent / "corpus"
    for old in corpus.glob("*"):
        old.unlink()
    for choice, head in CHOICES.items():
        for name, layout in LAYOUTS.items():
            (corpus / f"{name}-{choice}").write_bytes(head + layout)
