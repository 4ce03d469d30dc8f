"""The matrix of real programs: what each is made to do, and what it needs to be installed.

A script runs in bash, in a directory of the union that holds `input`, `source.c`, `tree/` and `tree.tar`;
$SOURCES is the directory of the sources next to this file, $ELSEWHERE one of another file system that holds
`foreign`, $PYTHON the interpreter of the tests, which has the wheels.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

NOBODY = 65534


@dataclass(frozen=True)
class Row:
    """One program's run, and the programs it needs."""

    script: str
    needs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()  # of Debian, that bring them
    user: int = 0


PERL = """
perl -MFile::Temp -e 'open(F, ">", "one"); sysopen(G, "two", 0x42); $t = File::Temp->new(DIR => ".")'
"""

AWK = """
awk '{ print > "awk-" NR }' input
diff input tree/a > different || cmp input input > same
"""

SQL = "create table t(x); insert into t values (1); insert into t values (2); vacuum; select count(*) from t;"

GIT = """
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b HOME=$PWD
git init -q . && echo text > file && git add file && git commit -q -m first && git gc -q && git status --short
"""

FIO = (
    "--name=job --directory=. --size=64k --bs=4k --rw=write --thread --create_serialize=1 --output=/dev/null"
)

# What the processes share for talking to each other comes and goes as they meet: not counted.
MPI = """
mpicc $SOURCES/mpi_writer.c -o writer
TMPDIR=$ELSEWHERE mpirun --allow-run-as-root --oversubscribe -np 2 --mca io {io} ./writer {io}-file
"""

POSTGRES = """
PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
initdb -D data -A trust --no-sync --no-instructions > /dev/null
echo 'create table t as select generate_series(1, 1000) x; select count(*) from t;' > statements
postgres --single -D data -c fsync=off postgres < statements > /dev/null
"""

ROWS = {
    "dd": Row("dd if=/dev/zero of=out bs=1000 count=3"),
    "cp": Row("cp input copy && cp -a input copy-a && cp -r tree tree2"),
    "install": Row("install -m 755 input installed"),
    "touch": Row("touch a b c && truncate -s 10 d && mktemp -p . && fallocate -l 10 e"),
    "mv": Row("mv $ELSEWHERE/foreign moved && mv moved moved-again"),
    "tar-create": Row("tar cf archive.tar tree && tar czf archive.tar.gz tree"),
    "tar-extract": Row("mkdir x && tar xf tree.tar -C x"),
    "rsync": Row("rsync -a tree/ tree3", ("rsync",), ("rsync",)),
    "gzip": Row(
        "gzip -k input && gunzip -c input.gz > unzipped && xz -k input && bzip2 -k input",
        ("gzip", "xz", "bzip2"), ("gzip", "xz-utils", "bzip2"),
    ),
    "zstd": Row("zstd -q input && zstd -q -d input.zst -o unpacked && zstd -q -T2 -r tree",
                ("zstd",), ("zstd",)),
    "sed": Row("sed -i s/e/E/ input && perl -pi -e s/x/y/ input"),
    "perl": Row(PERL),
    "awk": Row(AWK),
    "sort": Row("sort -o sorted input && split -l 1 input part- && tee teed < input && csplit -s input 1"),
    "bash": Row("echo 1 > one; echo 2 >> two; set -C; echo 3 > three; cat <<< text > four; : <> five"),
    "dash": Row("dash -c 'echo 1 > one; echo 2 >> two; cat input > three'"),
    "python3": Row("python3 $SOURCES/writer.py"),
    "gcc": Row("gcc -c source.c -o object.o && gcc object.o -o program && ar rcs library.a object.o"),
    "linkers": Row("gcc -c source.c && gcc -fuse-ld=gold source.o -o gold && objcopy source.o o; strip gold"),
    "g++": Row("g++ -std=c++17 $SOURCES/writer.cpp -o writer && ./writer", ("g++",), ("g++",)),
    "gfortran": Row("gfortran $SOURCES/writer.f90 -o writer && ./writer", ("gfortran",), ("gfortran",)),
    "rustc": Row("rustc --edition 2021 $SOURCES/writer.rs -o writer && ./writer", ("rustc",),
                 ("rustc",)),
    "sqlite3": Row(f"sqlite3 data.db '{SQL}' && sqlite3 wal.db 'pragma journal_mode=wal; {SQL}'",
                   ("sqlite3",), ("sqlite3",)),
    "curl": Row("curl -s -o one file://$PWD/input && curl -s --create-dirs -o two/three file://$PWD/input",
                ("curl",), ("curl",)),
    "openssl": Row("openssl ecparam -name prime256v1 -genkey -noout -out key 2> told"
                   " && openssl dgst -sha256 -out sum input", ("openssl",), ("openssl",)),
    "git": Row(GIT, ("git",), ("git",)),
    "java": Row(
        "java -Xlog:gc:file=machine.log -version 2> version"
        " && keytool -genkeypair -keyalg EC -dname CN=a -storepass secret -keystore store 2> told",
        ("java", "keytool"), ("default-jre-headless",),
    ),
    "node": Row("node $SOURCES/writer.js", ("node",), ("nodejs",)),
    "fio": Row(f"fio {FIO} --ioengine=psync && fio {FIO} --ioengine=libaio --filename=b"
               f" && fio {FIO} --ioengine=mmap --filename=c && fio {FIO} --ioengine=io_uring --filename=d",
               ("fio",), ("fio",)),
    "ffmpeg": Row("ffmpeg -loglevel error -f lavfi -i testsrc=duration=0.2 -f segment part-%d.avi"
                  " && ffmpeg -loglevel error -i part-0.avi frame-%d.png",
                  ("ffmpeg",), ("ffmpeg",)),
    "postgres": Row(POSTGRES, ("initdb",), ("postgresql",), user=NOBODY),
    "hdf5": Row("ncgen -o classic.nc $SOURCES/classic.cdl && ncgen -k nc4 -o four.nc $SOURCES/classic.cdl"
                " && h5repack four.nc packed.h5", ("ncgen", "h5repack"), ("netcdf-bin", "hdf5-tools")),
    "wheels": Row("$PYTHON $SOURCES/arrays.py"),
    "openmpi-ompio": Row(MPI.format(io="ompio"), ("mpicc", "mpirun"), ("libopenmpi-dev", "openmpi-bin")),
    "openmpi-romio": Row(MPI.format(io="romio321"), ("mpicc", "mpirun"), ("libopenmpi-dev", "openmpi-bin")),
}  # fmt: skip


def require(row: Row) -> None:
    """Fail, saying what to do, where a row's program is not there: all are on the tests' own list."""
    missing = [name for name in row.needs if not _is_installed(name)]
    assert not missing, (
        f"{', '.join(missing)} not installed ({', '.join(row.packages)}): packaging/install.sh test"
    )


def _is_installed(name: str) -> bool:
    return shutil.which(name) is not None or any(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
