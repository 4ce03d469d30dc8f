"""A program may live longer than the agents of its node."""

import subprocess

import pytest
from fake_table import CLAIMS_STATE_AT, FakeClaims, FakeTable
from mergerfs_union import Union
from patience import wait_until
from segments import RETIRED

PYTHON = ("/usr/bin/python3", "-I", "-S", "-c")
# Makes a file for each line.
FOR_EACH_LINE = """
import os, sys
for number, _ in enumerate(sys.stdin):
    os.close(os.open(f"file-{number}", os.O_CREAT | os.O_WRONLY))
    print(flush=True)
"""


@pytest.mark.long
def test_program_that_outlives_many_agents_claims_with_each(
    union: Union, table: FakeTable, claims: FakeClaims
) -> None:
    """It looks for what is new once a second."""
    with subprocess.Popen(
        [*PYTHON, FOR_EACH_LINE],
        env=union.environment(SES_SYNC_MS="0"), cwd=union.path, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout

        def has_claimed() -> bool:
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
            return claims.total() > 0

        for agent in range(12):
            wait_until(has_claimed, f"nothing is claimed with agent {agent}", 10)
            claims.put32(CLAIMS_STATE_AT, RETIRED)
            claims.close()
            claims = FakeClaims(0)
            claims.need(0)
            table.users[0] = claims
            table.name(claims, 0)
        process.communicate("")
    assert process.returncode == 0
