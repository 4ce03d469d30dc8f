"""A whole site that runs: what the demonstration starts."""

import os
import subprocess
from dataclasses import dataclass

from ses.basepath import basepath
from ses.demo.chain import Chain
from ses.demo.storage import Storage


@dataclass(frozen=True)
class Site:
    """A running site and its portal account."""

    storage: Storage
    chain: Chain
    password: str

    def write(self, name: str) -> str:
        """Write a file with an unmodified dd under the library; return the branch it lies on."""
        path = self.storage.union / name
        subprocess.run(
            ["dd", "if=/dev/zero", f"of={path}", "bs=64k", "count=16", "conv=fsync", "status=none"],
            check=True, timeout=60, env={"PATH": os.environ["PATH"], **self.chain.preloaded()},
        )  # fmt: skip
        assert path.stat().st_size == 1 << 20
        where = basepath(path)
        assert where
        return self.storage.branch_of(where)
