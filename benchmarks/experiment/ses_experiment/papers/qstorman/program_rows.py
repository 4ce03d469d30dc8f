"""Programs of Debian that write much: what each runs in a directory of its own, and which packages have it.

Inputs are made once, from a seed, and read from memory.  A row ends when all its files are on their devices.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from ses.demo.faults import DemoError
from ses.demo.tools import tool

_MIB = 1 << 20
# Each rank a file of its own, which its neighbour reads, then one file of all: the two patterns of IOR.
_MPI_IO = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { BLOCK = 1 << 20, BLOCKS = 8 };
int main(int argc, char **argv)
{
    int rank, ranks, mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    char name[32], *block = calloc(1, BLOCK);
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(name, sizeof name, "own.%d", rank);
    if (MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file)) return 1;
    for (int i = 0; i < BLOCKS; i++)
        MPI_File_write_at(file, (MPI_Offset)i * BLOCK, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(name, sizeof name, "own.%d", (rank + 1) % ranks);
    if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file)) return 1;
    for (int i = 0; i < BLOCKS; i++)
        MPI_File_read_at(file, (MPI_Offset)i * BLOCK, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    if (MPI_File_open(MPI_COMM_WORLD, "shared", mode, MPI_INFO_NULL, &file)) return 1;
    for (int i = 0; i < BLOCKS; i++)
        MPI_File_write_at_all(file, ((MPI_Offset)i * ranks + rank) * BLOCK, block, BLOCK, MPI_BYTE,
                              MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    return MPI_Finalize();
}
"""
_H5IMPORT = """\
PATH data
INPUT-CLASS IN
INPUT-SIZE 32
INPUT-BYTE-ORDER LE
RANK 1
DIMENSION-SIZES 4194304
OUTPUT-CLASS IN
OUTPUT-SIZE 32
"""
_SYNC = "find . -type f -exec sync {} +"


@dataclass(frozen=True, slots=True)
class Row:
    """A program: its script, where ``$I`` is the directory of inputs, what it needs, and who has that."""

    name: str
    script: str
    needs: tuple[str, ...]
    packages: str

    def command(self, inputs: Path) -> Sequence[str]:
        """Return what a user runs in a directory of their own."""
        return ["sh", "-ec", f"I={inputs}\n{self.script}\n{_SYNC}"]


_GENOMICS = """
cp $I/genome.fa .
bwa index genome.fa 2>/dev/null
bwa mem -v 1 genome.fa $I/reads.fq >a.sam
samtools sort -l 0 -o a.bam a.sam
samtools index a.bam
"""
_IMAGES = """
convert-im6.q16 $I/scan.ppm -flip a.ppm
convert-im6.q16 a.ppm -rotate 90 -compress none b.tif
"""
_SQLITE = """
sqlite3 data.db 'create table t(a, b);
  with recursive n(x) as (select 1 union all select x + 1 from n where x < 30000)
  insert into t select x, randomblob(400) from n; create index i on t(b)'
"""
_GIT = """
git init -q one
cp $I/part-* one
git -C one add .
git -C one -c user.name=a -c user.email=a@b commit -qm one
git clone -q --no-hardlinks one two
"""
ROWS = (
    Row("MPI-IO", "mpiexec.mpich -launcher fork -n 2 $I/mpi-io", ("mpicc.mpich",), "mpich libmpich-dev"),
    Row(
        "HDF5", "h5import $I/numbers -c $I/numbers.conf -o one.h5\nh5repack -l CONTI one.h5 two.h5",
        ("h5import", "h5repack"), "hdf5-tools",
    ),
    Row("genomics", _GENOMICS, ("bwa", "samtools"), "bwa samtools"),
    Row("out of core", "sort -S 2M --parallel=1 -T . -o sorted $I/reads.fq", ("sort",), "coreutils"),
    Row("images", _IMAGES, ("convert-im6.q16",), "imagemagick-6.q16"),
    Row("sqlite", _SQLITE, ("sqlite3",), "sqlite3"),
    Row("git", _GIT, ("git",), "git"),
)  # fmt: skip


def make_inputs(inputs: Path, seed: int) -> None:
    """Write what the programs read; raises DemoError where one is not installed."""
    missing = [row.packages for row in ROWS if any(shutil.which(name) is None for name in row.needs)]
    if missing:
        raise DemoError(f"Programs are missing: apt-get install {' '.join(missing)}")
    chance = Random(seed)
    inputs.mkdir()
    inputs.chmod(0o755)
    source = inputs / "mpi-io.c"
    source.write_text(_MPI_IO)
    tool("mpicc.mpich", "-O2", source, "-o", inputs / "mpi-io")
    (inputs / "numbers").write_bytes(chance.randbytes(16 * _MIB))
    (inputs / "numbers.conf").write_text(_H5IMPORT)
    (inputs / "scan.ppm").write_bytes(b"P6 2800 2000 255\n" + chance.randbytes(2800 * 2000 * 3))
    for number in range(8):
        (inputs / f"part-{number}").write_bytes(chance.randbytes(_MIB))
    genome = "".join(chance.choices("ACGT", k=200_000))
    (inputs / "genome.fa").write_text(f">one\n{genome}\n")
    with (inputs / "reads.fq").open("w") as file:
        for number in range(40_000):
            at = chance.randrange(len(genome) - 150)
            file.write(f"@{number}\n{genome[at : at + 150]}\n+\n{'I' * 150}\n")
