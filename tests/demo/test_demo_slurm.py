"""Jobs of a real Slurm: two get elements that meet what they need, one is refused, nothing is left behind."""

import json
import os
import sys
from pathlib import Path

import pytest
from ran import ran

SES = Path(sys.executable).parent / "ses"
PATIENCE = 240


@pytest.mark.root
def test_two_jobs_write_where_they_may_and_one_is_refused(traces):
    report = traces.base / "told.json"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("SES_", "SLURM_"))
    }
    done = ran(
        [SES, "demo", "--slurm", "--size", "6", "--json", report],
        env={**environment, "TMPDIR": str(traces.base), "COLUMNS": "200"},
    )
    checkpoint, archive, refused = json.loads(report.read_text())["jobs"]
    report.unlink()
    for job, files in ((checkpoint, 2), (archive, 4)):
        assert sum(element["files"] for element in job["got"]["elements"]) == files
        assert job["refused"] is None
    assert "can be met by no node now; the nearest is union/b" in refused["refused"]
    assert (refused["got"], "refused" in done.stdout) == (None, True)
    assert traces.files() == []
    assert traces.mounts() == []
    assert traces.processes() == []
