"""Unions as chance has them, changed while they are used: programs have the results of the union alone,
and no file goes where mergerfs's own filter would have refused it, or to what is no branch."""

import hashlib
import os
import random
import stat
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from claims_program import Table
from fake_service import FakeService
from mounts import small_disk, unmount
from patience import wait_until
from running_agent import Start

pytestmark = pytest.mark.root

POLICIES = ("mfs", "ff", "lfs", "rand", "pfrd", "epmfs", "epff", "eplfs", "newest", "lus", "msplfs")
OPTIONS = (
    *("use_ino", "cache.attr=0", "cache.entry=0", "cache.files=off", "cache.files=auto-full"),
    *("dropcacheonclose=true", "moveonenospc=true", "func.getattr=newest", "func.mkdir=mfs", "xattr=nosys"),
    *("link_cow=true", "inodecalc=path-hash", "cache.statfs=2", "async_read=false", "posix_acl=true"),
    *("ignorepponrename=true", "link-exdev=rel-symlink", "nullrw=false", "security_capability=false"),
    *("umask=022", "gid=4242"),
)
PROGRAMS = (
    "dd if=/dev/zero of={n}.dd bs=4k count=5 status=none; cat {n}.dd | wc -c",
    "for n in 1 2; do dd if=/dev/zero of={n}.dx bs=4k count=2 conv=excl,fsync status=none; done",
    "cp /etc/passwd {n}.cp; cp -p {n}.cp {n}.cq; cp -n /etc/group {n}.cp; "
    "stat --cached=never -c '%a %h %s' {n}.c*",  # a union's own answers are a second old
    "mkdir -p {n}/a/b; echo 1 > {n}/a/b/c; tar cf {n}.tar --mtime=@0 {n}/a/b/c; tar xf {n}.tar -C {n}",
    "git init -q {n}.git; cd {n}.git; cp /etc/group g; git add g; git status --porcelain; "
    "git -c user.name=a -c user.email=a@b commit -qm x; git log --format=%s",
    "mktemp -p . {n}.tmpXXXXXX > /dev/null; mktemp -d -p . {n}.tmpXXXXXX > /dev/null; ls {n}* | wc -l",
    "mkdir {n}.from; cp /etc/passwd /etc/group {n}.from; rsync -a {n}.from/ {n}.to; "
    "rsync -ai --size-only {n}.from/ {n}.to",
    "fallocate -l 100k {n}.fa; stat --cached=never -c %s {n}.fa",
    "sqlite3 {n}.db 'create table t(a); insert into t values(1)'; sqlite3 {n}.db 'select * from t'",
    "set -C; echo 1 > {n}.once; echo 2 > {n}.once; cat {n}.once; ln {n}.once {n}.link; "
    "mv {n}.link {n}.moved; ls {n}.*",
    "umask 077; echo 1 > {n}.own; umask 0; echo 1 > {n}.all; mkdir {n}.g; chmod 775 {n}.g; "
    "echo 1 > {n}.g/f; stat --cached=never -c '%a %u %g %h' {n}.own {n}.all {n}.g/f",
    "echo 1 > gone/{n} || echo no; cd {n}none || echo none; : > {n}.empty; echo more >> {n}.empty; "
    "cat {n}.empty",
)


@dataclass
class Twin:
    """The same union twice: one with an agent, one without."""

    union: Path
    branches: list[Path]
    modes: list[str] = field(default_factory=list)
    reserve: int = 0

    def set_option(self, name: str, value: str) -> None:
        os.setxattr(self.union / ".mergerfs", f"user.mergerfs.{name}", value.encode())

    def listed(self) -> str:
        return ":".join(f"{path}={mode}" for path, mode in zip(self.branches, self.modes, strict=True))

    def takes_files(self) -> list[bool]:
        """What mergerfs's filter lets through now."""
        spaces = [os.statvfs(path) for path in self.branches]
        return [
            mode == "RW" and space.f_bavail * space.f_frsize >= self.reserve
            for mode, space in zip(self.modes, spaces, strict=True)
        ]

    def files(self) -> list[set[Path]]:
        """What lies on each branch, without our own."""
        by_branch = []
        for branch in self.branches:
            names = {path.relative_to(branch) for path in branch.rglob("*") if not path.is_dir()}
            by_branch.append({name for name in names if name.parts[0] != ".ses"})
        return by_branch

    def seen(self) -> dict[str, object]:
        """What programs see of the files; not what two runs of a program never have alike."""
        files: dict[str, object] = {}
        for path in sorted(self.union.rglob("*")):
            name = str(path.relative_to(self.union))
            status = path.lstat()
            if name.startswith(".ses") or ".git/" in name or ".tmp" in name:
                continue
            is_file = stat.S_ISREG(status.st_mode) and not name.endswith((".db", ".tar"))
            text = hashlib.sha256(path.read_bytes()).hexdigest() if is_file else ""
            files[name] = (
                oct(status.st_mode),
                status.st_uid,
                status.st_gid,
                is_file and status.st_nlink,
                text,
            )
        return files


def run(twin: Twin, uid: int, script: str, **extra: str) -> tuple[int, str]:
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=twin.union / "work", user=uid, group=uid, extra_groups=[],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C"} | extra,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.replace(str(twin.union), "U")


class Drawn:
    def __init__(self, seed: int, base: Path, mounts: ExitStack) -> None:
        self.dice = random.Random(seed)
        count = self.dice.randint(2, 4)
        self.policy = self.dice.choice(POLICIES)
        self.options = self.dice.sample(OPTIONS, self.dice.randint(0, 4))
        sizes = [self.dice.choice((16, 32, 64)) for _ in range(count)]
        fills = [self.dice.choice((0, 0, self.dice.random() * 0.8)) for _ in range(count)]
        self.twins = [self._mount(base / name, sizes, fills, mounts) for name in ("with", "alone")]

    def _mount(self, base: Path, sizes: list[int], fills: list[float], mounts: ExitStack) -> Twin:
        base.mkdir()
        branches = [
            mounts.enter_context(small_disk(base / f"b{number}", size)) for number, size in enumerate(sizes)
        ]
        for branch, size, fill in zip(branches, sizes, fills, strict=True):
            branch.chmod(0o755)
            with (branch / f"fill-{branch.name}").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, int(fill * size * (1 << 20)) + 1)
        for branch in branches[: len(branches) // 2 + 1]:
            (branch / "work").mkdir()
            (branch / "work").chmod(0o1777)
        union = base / "union"
        union.mkdir()
        twin = Twin(union, branches, ["RW"] * len(branches))
        fixed = ("allow_other", f"category.create={self.policy}", "minfreespace=0")
        options = ",".join((*fixed, *self.options))
        subprocess.run(["mergerfs", "-o", options, twin.listed(), union], check=True, timeout=60)
        mounts.callback(unmount, union)
        return twin

    def change(self) -> str:
        """Change both alike, so that at least one branch with the directory still takes files."""
        twin = self.twins[0]
        kept = self.dice.randrange(len(twin.branches) // 2 + 1)
        modes = [
            "RW" if number == kept else self.dice.choice(("RW", "RW", "NC", "RO"))
            for number in range(len(twin.branches))
        ]
        free = [space.f_bavail * space.f_frsize for space in map(os.statvfs, twin.branches)]
        half = free[kept] // 2
        # The few kilobytes of our directories decide nothing.
        clear = all(abs(space - half) > 1 << 20 for space in free)
        reserve = self.dice.choice((0, half if clear else 0))
        for changed in self.twins:
            changed.modes, changed.reserve = modes, reserve
            changed.set_option("branches", changed.listed())
            changed.set_option("minfreespace", str(reserve))
        return f"{modes} minfreespace={reserve}"


def try_union(seed: int, base: Path, start: Start, service: FakeService, library: Path) -> None:
    base.mkdir(mode=0o755)
    with ExitStack() as mounts:
        drawn = Drawn(seed, base, mounts)
        ours, alone = drawn.twins
        service.mount_point = ours.union
        service.targets = {f"union/b{number}": path for number, path in enumerate(ours.branches)}
        for element, path in service.targets.items():
            space = os.statvfs(path)
            service.facts[element] = {"size": float(space.f_blocks * space.f_frsize)}
            service.loads[element] = {"free": float(space.f_bavail * space.f_frsize)}
        service.revision = f"r{seed}"
        agent = start(until="storage system union is mounted")
        mounts.callback(agent.stop)
        agent.ask(device=ours.union.stat().st_dev).close()
        table = Table(agent.socket)
        mounts.callback(table.detach)
        mutes = {"xattr=nosys", "link_cow=true"} & set(drawn.options)
        uid = drawn.dice.choice((0, 4242))
        numbers = iter(range(1000))
        change = "as mounted"
        for _ in range(2):
            if not mutes:
                wait_until(
                    lambda: [not row.excluded for row in table.rows()] == ours.takes_files(), "it is known"
                )
            before = ours.files()
            for program in drawn.dice.sample(PROGRAMS, 4):
                script = program.format(n=f"p{next(numbers)}")
                refused = [not takes for takes in ours.takes_files()]
                with_us = run(ours, uid, script, LD_PRELOAD=str(library), SES_AGENT_SOCKET=str(agent.socket),
                              SES_SYNC_MS="20000")  # fmt: skip
                plain = run(alone, uid, script)
                where = (seed, drawn.policy, drawn.options, change, uid, script)
                assert with_us == plain, where
                now = ours.files()
                for number, takes_none in enumerate(refused):
                    new = now[number] - before[number]
                    assert not (takes_none and new), (where, number, new)
                before = now
            assert ours.seen() == alone.seen(), (seed, drawn.policy, drawn.options, change)
            if "xattr=nosys" in drawn.options:
                break
            change = drawn.change()
        assert {path for names in ours.files() for path in names} == {
            path.relative_to(ours.union)
            for path in ours.union.rglob("*")
            if not path.is_dir() and path.relative_to(ours.union).parts[0] != ".ses"
        }
        print(f"union {seed}: {len(service.placements)} files placed so far")


@pytest.mark.parametrize("count", [1, pytest.param(500, marks=[pytest.mark.long, pytest.mark.timeout(7200)])])
def test_no_program_sees_a_difference(
    start: Start, service: FakeService, base: Path, public_wrapper: Path, count: int
) -> None:
    for parent in (base, *base.parents):
        if parent.stat().st_mode & 0o005 == 0o005:
            break
        parent.chmod(0o755)
    first = int(os.environ.get("SES_UNION", "1"))
    for seed in range(first, first + count):
        try_union(seed, base / f"u{seed}", start, service, public_wrapper)
    wait_until(lambda: service.placements, "some files were placed")
