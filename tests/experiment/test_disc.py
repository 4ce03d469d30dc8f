"""`ses experiment disc`: three arms with the same output, and nothing is left."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SES = Path(sys.executable).parent / "ses"


@pytest.mark.root
@pytest.mark.long
def test_all_arms_print_the_same_and_nothing_is_left(traces):
    """Figures of such a short run on a busy machine mean nothing, so none is asked for."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SES_")}
    done = subprocess.run(
        [SES, "experiment", "disc", "--short", "--size", "4", "--cost", "desktop=600,endpoint=80", "--json"],
        capture_output=True, env={**environment, "TMPDIR": str(traces.base)}, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    rows = json.loads(done.stdout)["rows"]
    assert [row["program"] for row in rows] == ["wordcount", "wordcount of all", "egrep"]
    for row in rows:
        assert row["same_output"]
        assert 0 < row["peak"] <= 175
        prices, near = row["price_performance"], row["near"]
        assert prices["desktop"] == pytest.approx(row["desktop"] * 600 / (near * 320))
        assert prices["distributed"] == pytest.approx(row["distributed"] * 920 / (near * 320))
    assert not rows[0]["pays"], "the word count stays with the faster core"
    assert traces.files() == []
    assert traces.mounts() == []
    assert traces.rules_of_detached_devices() == []
    name = re.search(r"the network of (\S+)-s ", done.stderr.decode())[1]
    assert list(Path("/sys/fs/cgroup").glob(f"*/{name}")) == []
