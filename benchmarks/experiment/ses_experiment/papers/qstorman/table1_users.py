"""The users of Table 1: read, compute, write, for one file size after the other, by unmodified programs.

``dd`` reads what was written before, ``sleep`` stands for computing, ``dd`` writes a new file and sees
each block to the device (``oflag=dsync``), ``rm`` removes what was read.  The union keeps nothing in the
page cache (:mod:`ses_experiment.site`), so reads go to the device; the first input, which many may
read, is read from its branch with ``iflag=direct``.  Sizes fall, so that each input holds as many bytes
as are read from it.

Rules of managers name the branch themselves: in turn (``roundrobin``); dCache's weighted available space
(``wass``), drawn by the free space over ``2 ** (half of the writers)``; or of two drawn at random the one
with fewer files (``two-true``).  All users share one file, which has the branch whose turn it is, or how many
files are open on each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ses_experiment.site import READ_RATE, WRITE_RATE

MIB = 1 << 20

SEEDS = 1 << 24  # mawk takes all from 2^31 on for one
# Arguments: bytes of a block, first input, where to write (with what follows the number of a branch, and the
# file that all share, for rules of managers; else empty), number of branches, the rule, its seed, then
# BLOCKS:SECONDS, the seconds for computing.
SCRIPT = r"""
block=$1 input=$2 place=$3 rest=$4 turns=$5 branches=$6 rule=$7 seed=$8
shift 8
flags=iflag=direct number=0 branch=
next='BEGIN {
  srand(seed)
  for (at = 0; at < 2 * number; at++)
    rand()
}
{
  count = split($0, open, " ")
  split(free, weight, " ")
  if (rule == "roundrobin") {
    chosen = open[1]
    open[1] = chosen % branches + 1
  } else if (ends)
    open[chosen = ends]--
  else if (rule == "two-true") {
    chosen = 1 + int(rand() * count)
    other = 1 + int(rand() * (count - 1))
    other += other >= chosen
    if (open[other] < open[chosen])
      chosen = other
    open[chosen]++
  } else {
    for (at = 1; at <= count; at++)
      sum += weight[at] *= 2 ^ (-open[at] / 2)
    left = rand() * sum
    for (at = 1; at <= count && left >= 0; at++)
      left -= weight[chosen = at]
    open[chosen]++
  }
  printf "%d", chosen
  for (at = 1; at <= count; at++)
    printf " %d", open[at]
}'
free() {
  for at in $(seq "$branches"); do
    stat -f -c %a "$place$at"
  done
}
manage() {
  {
    flock 9 &&
      set -- $(awk -v rule="$rule" -v branches="$branches" -v ends="$1" -v free="$(free | tr '\n' ' ')" \
        -v seed="$seed" -v number="$number" "$next" "$turns") &&
      branch=$1 && shift && echo "$*" >"$turns"
  } 9<"$turns"
}
for step in "$@"; do
  number=$((number + 1))
  dd if="$input" of=/dev/null bs="$block" count="${step%:*}" status=none $flags || exit 1
  sleep "${step#*:}"
  [ -z "$turns" ] || manage '' || exit 1
  output=$place$branch$rest/$number
  dd if=/dev/zero of="$output" bs="$block" count="${step%:*}" status=none oflag=dsync || exit 1
  [ -z "$turns" ] || [ "$rule" = roundrobin ] || manage "$branch" || exit 1
  [ -n "$flags" ] || rm "$input" || exit 1
  flags='' input=$output
done
"""


@dataclass(frozen=True, slots=True)
class Form:
    """How much a user does: ``sizes`` of the files in blocks, seconds of computing per MB; rates in MB/s.

    The paper's 1 to 50 GB at 500 and 300 MB/s, scaled: at 25 and 15 MB/s its 1.3 s/GB are 0.026 s/MB.
    """

    sizes: tuple[int, ...]
    compute: float = 0.026
    start_spread: float = 0.5
    block: int = MIB
    read_rate: int = READ_RATE
    write_rate: int = WRITE_RATE

    @property
    def bytes(self) -> tuple[int, ...]:
        """Bytes of the files."""
        return tuple(size * self.block for size in self.sizes)

    @property
    def stream_bytes(self) -> float:
        """Mean bytes of a stream of the background: four times a file, as in the simulation."""
        return 4 * fmean(self.bytes)

    def steps(self) -> list[str]:
        """Return the script's last arguments."""
        return [f"{size}:{size * self.block / 1e6 * self.compute:.3f}" for size in self.sizes]

    @property
    def ideal_seconds(self) -> float:
        """What a user alone would need, were programs started in no time."""
        return sum(self.bytes) / 1e6 * (1 / self.read_rate + 1 / self.write_rate + self.compute)


FULL = Form(tuple(range(44, 0, -2)))
SHORT = Form(tuple(range(16, 0, -2)))
# The 50 files of the paper: a GB becomes 100 KiB, rates a fiftieth, and so an hour 18.4 seconds.
PAPER = Form(tuple(range(50, 0, -1)), 0.065, block=100 << 10, read_rate=10, write_rate=6)


def command(
    first: str, place: str, form: Form, rest: str = "", turns: str = "", branches: int = 0, rule: str = "",
    seed: int = 0,
) -> Sequence[str]:  # fmt: skip
    """Return what a user runs; see the script for the arguments."""
    kept = (str(form.block), first, place, rest, turns, str(branches), rule, str(seed))
    return ["sh", "-c", SCRIPT, "loop", *kept, *form.steps()]
