"""Which exported functions of the installed C library can create a regular file, read from its machine code.

A system call that opens or makes a node is a site.  A function that reaches a site may create, unless every
way there passes open flags without O_CREAT, or a stream mode that begins with "r".  What is passed is read
backwards from the call along every path; what cannot be told counts as creating.

Does NOT follow pointers to functions, other than those the code itself or a constant table holds, nor calls
into the dynamic loader.  Does NOT count a call whose number comes from memory: so are set*id() calls told to
the other threads.  Knows x86-64 only.
"""

import re
import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from machine_code import UNKNOWN, Function, read_instruction
from ran import ran

O_CREAT = 0x40
O_TMPFILE = 0x400000

# System calls: those that make a node whatever they are given; the register with the flags of the others.
ALWAYS_CREATE = {85, 133, 259, 437}  # creat, mknod, mknodat, openat2
FLAGS_OF = {2: "rsi", 257: "rdx"}  # open, openat
# Functions that open as a stream mode says: the register it comes in.
MODE_OF = {
    "fopen": "rsi", "freopen": "rsi", "freopen64": "rsi", "setmntent": "rsi", "_IO_file_fopen": "rdx",
}  # fmt: skip

# The longest table of pointers to functions looked into, in bytes.
TABLE_MAX = 64

# When a function creates a file: always, or if the "flags" or the "mode" in a register say so.
Condition = tuple[str, str] | None
ALWAYS = None


def _run(*command: str | Path) -> str:
    return ran([str(part) for part in command]).stdout


class CLibrary:
    """One shared object: its functions, and which of the exported ones can create."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._bytes = path.read_bytes()

    @cached_property
    def exported(self) -> dict[str, int]:
        """Names other objects can call, and where they begin."""
        listed = re.findall(
            r"^ *\d+: ([0-9a-f]+) +\d+ I?FUNC +(?:GLOBAL|WEAK) +DEFAULT +\d+ ([^@\s]+)@(?!.*PRIVATE)",
            _run("readelf", "-W", "--dyn-syms", self.path),
            re.MULTILINE,
        )
        return {name: int(address, 16) for address, name in listed}

    @cached_property
    def functions(self) -> list[Function]:
        """All functions, exported or not: the unwinding tables say where each begins and ends."""
        ranges = re.findall(
            r"FDE cie=\S+ pc=([0-9a-f]+)\.\.([0-9a-f]+)", _run("objdump", "--dwarf=frames", self.path)
        )
        functions = [Function(int(start, 16), int(end, 16)) for start, end in sorted(ranges)]
        position = 0
        for line in _run("objdump", "-d", "--no-show-raw-insn", self.path).splitlines():
            instruction = read_instruction(line)
            if instruction is None:
                continue
            while position < len(functions) and functions[position].end <= instruction.address:
                position += 1
            if position < len(functions) and functions[position].start <= instruction.address:
                functions[position].code.append(instruction)
        return functions

    @cached_property
    def _starts(self) -> list[int]:
        return [function.start for function in self.functions]

    def function_at(self, address: int) -> Function | None:
        """The function ADDRESS lies in."""
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self.functions[index].end:
            return None
        return self.functions[index]

    def _keeps(self, target: int | None, register: str) -> bool:
        callee = self.function_at(target) if target is not None else None
        return callee is not None and callee.leaves_alone(register)

    def _condition(self, function: Function, position: int, condition: Condition) -> Iterator[Condition]:
        """When FUNCTION creates, if what it does at POSITION creates under CONDITION."""
        if condition is ALWAYS:
            yield ALWAYS
            return
        kind, register = condition
        for value in function.values(position, register, self._keeps):
            if isinstance(value, str):
                yield kind, value
            elif value is UNKNOWN or self._creates(kind, value):
                yield ALWAYS

    def _creates(self, kind: str, value: int) -> bool:
        if kind == "flags":
            return bool(value & O_CREAT) or value & O_TMPFILE == O_TMPFILE
        # A constant string lies in the file where it lies in memory: the first segments are mapped so.
        return self._bytes[value : value + 1] != b"r"

    def _own_conditions(self, function: Function) -> Iterator[Condition]:
        """When the system calls in FUNCTION create."""
        for position, instruction in enumerate(function.code):
            if instruction.name != "syscall":
                continue
            for number in function.values(position, "rax", self._keeps):
                if isinstance(number, str) or number in ALWAYS_CREATE:
                    yield ALWAYS
                elif number in FLAGS_OF:
                    yield from self._condition(function, position, ("flags", FLAGS_OF[number]))

    @cached_property
    def _references(self) -> dict[int, list[tuple[Function, int]]]:
        """Start of a function: where it is called, jumped to, or its address is taken."""
        references = defaultdict(list)
        starts = set(self._starts)
        for function in self.functions:
            for position, instruction in enumerate(function.code):
                callee = instruction.target
                if instruction.name.startswith(("call", "j")) and callee not in starts:
                    part = self.function_at(callee) if callee is not None else None
                    callee = part.start if part else None
                if callee in starts and callee != function.start:
                    references[callee].append((function, position))
        for callee, slot in self._pointers:
            table = max((address for address in self._constants if address <= slot), default=0)
            references[callee] += self._constants.get(table, []) if slot - table < TABLE_MAX else []
        return references

    @cached_property
    def _pointers(self) -> list[tuple[int, int]]:
        """Functions that constant tables hold, and where they hold them."""
        section = re.search(
            r" \.data\.rel\.ro +PROGBITS +([0-9a-f]+) +([0-9a-f]+) +([0-9a-f]+)",
            _run("readelf", "-W", "--sections", self.path),
        )
        if section is None:
            return []
        address, offset, size = (int(part, 16) for part in section.groups())
        words = struct.unpack(f"<{size // 8}Q", self._bytes[offset : offset + size // 8 * 8])
        starts = set(self._starts)
        return [(word, address + 8 * index) for index, word in enumerate(words) if word in starts]

    @cached_property
    def _constants(self) -> dict[int, list[tuple[Function, int]]]:
        """Addresses of data the code uses: where it does."""
        uses = defaultdict(list)
        for function in self.functions:
            for position, instruction in enumerate(function.code):
                if instruction.target is not None and not instruction.name.startswith(("call", "j")):
                    uses[instruction.target].append((function, position))
        return uses

    def creates_by_itself(self) -> bool:
        """Does any function make a creating system call, rather than call the C library for it?"""
        return any(True for function in self.functions for _ in self._own_conditions(function))

    def creators(self) -> set[str]:
        """The exported names of all functions that can create a regular file."""
        modes = {self.exported[name]: ("mode", register) for name, register in MODE_OF.items()}
        conditions: dict[int, set[Condition]] = defaultdict(set)
        todo = [(f, condition) for f in self.functions for condition in self._own_conditions(f)]
        while todo:
            function, condition = todo.pop()
            condition = modes.get(function.start, condition)
            if condition in conditions[function.start] or ALWAYS in conditions[function.start]:
                continue
            conditions[function.start].add(condition)
            for caller, position in self._references[function.start]:
                called = (
                    caller.code[position].target == function.start and caller.code[position].name[0] in "cj"
                )
                for passed in self._condition(caller, position, condition if called else ALWAYS):
                    todo.append((caller, passed))
        return {name for name, address in self.exported.items() if conditions.get(address)}
