"""Whatever directories hold and others have claimed: no stated size is given where it does not fit."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ses.place import directories, placing
from ses.place.directories import Directory
from ses.place.placing import NothingFitsError, request_of

MEBIBYTE = 1 << 20
FILE_SYSTEMS = st.lists(st.integers(0, 200), min_size=1, max_size=4)
SIZES = st.lists(st.integers(1, 120), min_size=1, max_size=12)


@settings(max_examples=60)
@given(free=FILE_SYSTEMS, sizes=SIZES, shared=st.booleans())
def test_claims_never_stand_for_more_than_is_free(free: list[int], sizes: list[int], shared: bool) -> None:
    places = [
        Directory(
            given=f"/d{row}{half}",
            path=f"/d{row}{half}",
            identity=f"{row}:1",
            file_system=f"9:{row}",
            device=f"9:{row}",
            size=300 * MEBIBYTE,
            free=size * MEBIBYTE,
        )
        for row, size in enumerate(free)
        for half in ("ab" if shared else "a")
    ]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(directories, "look_at", lambda *_: places)
        claimed = dict.fromkeys((place.file_system for place in places), 0)
        for size in sizes:
            request = request_of(
                [place.given for place in places], placing.Holder(until=2e10), size=size * MEBIBYTE
            )
            fits = [
                place
                for place in places
                if place.free - claimed[place.file_system] >= max(4, size) * MEBIBYTE
            ]
            try:
                chosen = placing.place(request, Path(folder) / "ledger").claim
            except NothingFitsError:
                assert not fits
                continue
            assert chosen.base in {fit.path for fit in fits}
            claimed[chosen.file_system] += size * MEBIBYTE
