"""The first process of a machine, which is a PID namespace: starts an agent and jobs as it is asked.

Each line on standard input is a command; ``job`` is answered by the process as a place names it.
"""

import json
import subprocess
import sys
from pathlib import Path


def main() -> None:
    jobs: dict[int, subprocess.Popen[bytes]] = {}
    agent: subprocess.Popen[bytes] | None = None
    for line in sys.stdin:
        word, *words = line.split()
        if word == "job":
            job = subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL)
            jobs[job.pid] = job
            print(json.dumps(described(job.pid)), flush=True)
        elif word == "end":
            kill(jobs.pop(int(words[0])))
        else:
            if agent is not None:
                kill(agent)
            agent = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def described(pid: int) -> dict[str, int]:
    started = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19]
    return {"pid": pid, "started": int(started), "namespace": Path("/proc/self/ns/pid").stat().st_ino}


if __name__ == "__main__":
    main()
