"""The core is fit to be loaded into any program: it calls nobody and takes little stack."""

from built import BUILD
from ran import ran

CORE = BUILD / "core"


def test_core_calls_no_function_of_a_library() -> None:
    listing = ran(["nm", CORE / "libses_core.a"]).stdout.splitlines()
    defined = {line.split()[-1] for line in listing if " T " in line}
    needed = {line.split()[-1] for line in listing if " U " in line}
    assert "ses_core_choose" in defined
    assert needed - defined - {"_GLOBAL_OFFSET_TABLE_", "memcpy", "memset"} == set()


def test_core_keeps_no_state() -> None:
    listing = ran(["nm", CORE / "libses_core.a"]).stdout.splitlines()
    assert not [line for line in listing if line[17:18] in set("BbDdCcSs")]


def test_no_frame_takes_more_than_512_bytes() -> None:
    frames = {
        fields[0]: (int(fields[1]), fields[2])
        for path in CORE.glob("CMakeFiles/ses_core.dir/*.su")
        for fields in [line.split("\t") for line in path.read_text().splitlines()]
    }
    assert frames, "the build wrote no stack usage"
    assert {name: size for name, (size, kind) in frames.items() if size > 512 or kind != "static"} == {}
