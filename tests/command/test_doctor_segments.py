"""``ses doctor`` says who holds the segments of shared memory when few are left."""

from ses.doctor.shared_memory import check_segments


def test_who_holds_all_segments_is_named_with_what_to_do(tmp_path):
    listed, limit = tmp_path / "shm", tmp_path / "shmmni"
    row = "0 {} 1600 4096 1 1 0 {} 0 0 0 0 0 0 4096 0\n"
    limit.write_text("100\n")
    listed.write_text("key\n" + "".join(row.format(number, 65534 if number else 0) for number in range(84)))
    assert check_segments(listed, limit) == []
    with listed.open("a") as file:
        file.write(row.format(84, 12345))
    (found,) = check_segments(listed, limit)
    assert "85 of 100 segments are in use, 83 of them by nobody" in found.detail
    assert "sysctl kernel.shmmni=200" in found.mend
    assert check_segments(tmp_path / "none", limit) == []
