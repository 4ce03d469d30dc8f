"""A ses-run whose supervisor has a library preloaded, which holds it at a chosen moment."""

import shutil
from pathlib import Path

SCRIPT = """#!/bin/bash
LD_PRELOAD={library} exec -a ses-supervisor {real} "$@"
"""


def with_preloaded(ses_run: Path, library: Path, place: Path) -> Path:
    """A copy of ses-run in the directory PLACE, which is made, and the supervisor it starts."""
    place.mkdir()
    script = place / "ses-supervisor"
    script.write_text(SCRIPT.format(library=library, real=ses_run.with_name("ses-supervisor")))
    script.chmod(0o755)
    return Path(shutil.copy(ses_run, place))
