"""Runs ``ses`` with a ledger of its own."""

import json
import os
import re
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ran import ran

PROGRAM = Path(sys.executable).with_name("ses")


@dataclass
class Ses:
    """Runs ``ses`` as people do; ``state`` is where its ledger is kept."""

    state: Path

    def __call__(self, *args: object, code: int = 0, **env: str) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SES_", "SLURM_"))}
        done = ran(
            [PROGRAM, *map(str, args)], code=code, env={**kept, "XDG_STATE_HOME": str(self.state), **env}
        )
        return done.stderr if code else done.stdout

    def json(self, *args: object, **env: str) -> Any:
        return json.loads(self(*args, "--json", **env))

    def claims(self, **env: str) -> list[dict[str, Any]]:
        claims: list[dict[str, Any]] = self.json("places", **env)["claims"]
        return claims

    def change_claims(self, **values: str) -> None:
        """Write other values into claims, behind their back: expressions of SQL, in which @ is a member."""
        with closing(sqlite3.connect(self.ledger)) as ledger, ledger:
            for name, value in values.items():
                of_member = re.sub(r"@(\w+)", r"json_extract(text, '$.\1')", value)
                ledger.execute(f"UPDATE claim SET text = json_set(text, '$.{name}', {of_member})")

    @property
    def ledger(self) -> Path:
        (path,) = (self.state / "ses").glob("places-*.sqlite")
        return path
