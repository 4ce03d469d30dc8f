"""The users of Table 1: read, compute, write, for one file size after the other, by unmodified programs.

``dd`` reads what was written before, ``sleep`` stands for computing, ``dd`` writes a new file and sees
each megabyte to the device (``oflag=dsync``), ``rm`` removes what was read.  The union keeps nothing in the
page cache (:mod:`ses.experiment.site`), so reads go to the device; the first input, which many may
read, is read from its branch with ``iflag=direct``.  Sizes fall, so that each input holds as many bytes
as are read from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

MIB = 1 << 20

# Arguments: first input, where to write (with what follows the number of a branch, and a file with the
# number whose turn it is, for round robin; else empty), number of branches, then SIZE:SECONDS of computing.
SCRIPT = r"""
input=$1 place=$2 rest=$3 turns=$4 branches=$5
shift 5
flags=iflag=direct number=0 branch=
for step in "$@"; do
  number=$((number + 1))
  dd if="$input" of=/dev/null bs=1M count="${step%:*}" status=none $flags || exit 1
  sleep "${step#*:}"
  if [ -n "$turns" ]; then
    {
      flock 9 && read -r branch <&9 && echo $((branch % branches + 1)) >"$turns" || exit 1
    } 9<"$turns"
  fi
  output=$place$branch$rest/$number
  dd if=/dev/zero of="$output" bs=1M count="${step%:*}" status=none oflag=dsync || exit 1
  [ -n "$flags" ] || rm "$input" || exit 1
  flags='' input=$output
done
"""


@dataclass(frozen=True, slots=True)
class Form:
    """How much a user does: ``sizes`` of the files in MiB, seconds of computing per MB.

    The paper's 1 to 50 GB at 500 and 300 MB/s, scaled: at 25 and 15 MB/s its 1.3 s/GB are 0.026 s/MB.
    """

    sizes: tuple[int, ...]
    compute: float = 0.026
    start_spread: float = 0.5

    @property
    def stream_bytes(self) -> float:
        """Mean bytes of a stream of the background: four times a file, as in the simulation."""
        return 4 * fmean(self.sizes) * MIB

    def steps(self) -> list[str]:
        """Return the script's last arguments."""
        return [f"{size}:{size * MIB / 1e6 * self.compute:.3f}" for size in self.sizes]

    def ideal_seconds(self, read_rate: float, write_rate: float) -> float:
        """Return what a user alone would need at these rates (MB/s), were programs started in no time."""
        return sum(self.sizes) * MIB / 1e6 * (1 / read_rate + 1 / write_rate + self.compute)


FULL = Form(tuple(range(44, 0, -2)))
SHORT = Form(tuple(range(16, 0, -2)))


def command(
    first: str, place: str, form: Form, rest: str = "", turns: str = "", branches: int = 0
) -> Sequence[str]:
    """Return what a user runs; see the script for the arguments."""
    return ["sh", "-c", SCRIPT, "loop", first, place, rest, turns, str(branches), *form.steps()]
