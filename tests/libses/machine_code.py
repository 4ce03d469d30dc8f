"""Instructions and functions of x86-64 machine code, and what a register can hold at one place.

Reads the operands of the few instructions that pass constants on; of all others it says that the value is
not known.  Does NOT decode bytes: instructions come from the listing of objdump.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

_INSTRUCTION = re.compile(
    r"^ *([0-9a-f]+):\t(?:(?:lock|rep|repz|repnz|bnd|notrack|data16|cs) )*(\S+) *([^<#\n]*)(.*)$"
)
_WIDTHS = {"a": "rax", "b": "rbx", "c": "rcx", "d": "rdx", "si": "rsi", "di": "rdi", "bp": "rbp", "sp": "rsp"}
_CLOBBERED = {"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"}
_NO_RESULT = ("cmp", "test", "push", "j", "nop", "ret", "ud2", "bt ", "prefetch", "ucomis", "comis")
_IMPLICIT = ("mul", "imul", "div", "idiv", "cqto", "cltd", "cltq", "cpuid", "rdtsc", "xgetbv")
_SLOT = re.compile(r"-?0x[0-9a-f]+\(%r[bs]p\)")
_NO_RETURN = ("__stack_chk_fail", "__assert_fail", "abort", "__chk_fail", "_exit")
_END = ("jmp", "ret", "ud2", "hlt")

UNKNOWN = None
# A constant, the name of a register as it was when the function was called, or UNKNOWN.
Value = int | str | None
# Tells whether the call of a function at an address leaves a register alone.
Keeps = Callable[[int | None, str], bool]


def _register(name: str) -> str:
    """The 64-bit register that NAME is a part of."""
    if name[0] == "r" and name[1:2].isdigit():
        return name.rstrip("dwb")
    stem = name.removeprefix("r").removeprefix("e") if len(name) > 2 else name
    return _WIDTHS.get(stem) or _WIDTHS.get(stem.rstrip("lhx")) or name


def _place(operand: str) -> str | None:
    """What an operand names: a register, or a place on the stack."""
    if operand.startswith("%") and ":" not in operand:
        return _register(operand[1:])
    return operand if _SLOT.fullmatch(operand) else None


@dataclass(frozen=True)
class Instruction:
    """One line of the listing; TARGET is where a jump, a call or a %rip-relative operand points."""

    address: int
    name: str
    operands: list[str]
    target: int | None
    callee: str  # the name the listing gives the target of a call

    @property
    def written(self) -> str | None:
        """The register, or place on the stack, whose value it changes, as far as its operands say."""
        if not self.operands or self.name.startswith(_NO_RESULT):
            return None
        return _place(self.operands[-1])

    @property
    def spoilt(self) -> set[str]:
        """The registers it changes without naming them last."""
        if self.name == "syscall":
            return {"rax", "rcx", "r11"}
        if self.name.startswith(("xchg", "cmpxchg", "xadd")):
            return {"rax", *(place for operand in self.operands if (place := _place(operand)))}
        if self.name.startswith(_IMPLICIT) and len(self.operands) < 2:
            return {"rax", "rdx"}
        return set()

    @property
    def ends(self) -> bool:
        """Control does not come to what follows."""
        return self.name.startswith(_END) or (self.name == "call" and self.callee in _NO_RETURN)

    @property
    def is_filling(self) -> bool:
        """It stands between blocks so that the next begins where it should."""
        return self.name.startswith("nop") or (self.name == "xchg" and self.operands == ["%ax", "%ax"])


def read_instruction(line: str) -> Instruction | None:
    """The instruction in a line of `objdump -d --no-show-raw-insn`; None: there is none."""
    read = _INSTRUCTION.match(line)
    if not read:
        return None
    address, name, operands, comment = int(read[1], 16), read[2], read[3].strip(), read[4]
    target = None
    callee = symbol[1] if (symbol := re.search(r"<([^@+>]*)[^+>]*>", comment)) else ""
    if name.startswith(("j", "call")):
        target = int(operands, 16) if re.fullmatch(r"[0-9a-f]+", operands) else None
    elif refers := re.search(r"# ([0-9a-f]+)", comment):
        target = int(refers[1], 16)
    # Commas within an address do not part operands.
    return Instruction(address, name, re.split(r",(?![^(]*\))", operands) if operands else [], target, callee)


@dataclass
class Function:
    """From START up to END; what jumps where inside it."""

    start: int
    end: int
    code: list[Instruction] = field(default_factory=list)

    @cached_property
    def jumps_to(self) -> dict[int, list[int]]:
        """Address: the positions of the instructions that jump there."""
        jumps = defaultdict(list)
        for position, instruction in enumerate(self.code):
            if instruction.name.startswith("j") and instruction.target is not None:
                jumps[instruction.target].append(position)
        return jumps

    def before(self, position: int) -> list[int]:
        """The positions from which control comes to POSITION; none: from outside, by a table of jumps, or
        never (the filling between blocks)."""
        positions = list(self.jumps_to.get(self.code[position].address, []))
        if position > 0 and not self.code[position - 1].ends:
            positions.append(position - 1)
        return positions

    def leaves_alone(self, register: str) -> bool:
        """True when a call of it cannot change REGISTER: compilers count on that."""
        return all(
            not instruction.name.startswith(("call", "syscall"))
            and instruction.written != register
            and (
                not instruction.name.startswith("j")
                or (instruction.target is not None and self.start <= instruction.target < self.end)
            )
            for instruction in self.code
        )

    def values(self, position: int, register: str, keeps: Keeps) -> set[Value]:
        """What REGISTER can hold when control reaches POSITION; KEEPS tells which calls leave it alone."""
        possible: set[Value] = set()
        seen: set[tuple[int, str, int]] = set()
        todo = [(position, register, 0)]  # a position, the register to follow from there, the bits set since
        while todo:
            here = todo.pop()
            if here in seen:
                continue
            seen.add(here)
            position, register, bits = here
            sources = self.before(position)
            if position == 0:
                possible.add(UNKNOWN if bits else register)
            elif not sources and not self.code[position].is_filling:
                possible.add(UNKNOWN)
            for source in sources:
                for value, follow, more in self._effect(self.code[source], register, keeps):
                    if follow is None:
                        possible.add(value | bits if isinstance(value, int) else UNKNOWN)
                    else:
                        todo.append((source, follow, bits | more))
        return possible

    @staticmethod
    def _effect(
        instruction: Instruction, register: str, keeps: Keeps
    ) -> Iterator[tuple[Value, str | None, int]]:
        """What REGISTER holds after INSTRUCTION: a value, or that of a register before it with bits added."""
        name, operands = instruction.name, instruction.operands
        if name.startswith("call"):
            kept = register not in _CLOBBERED or keeps(instruction.target, register)
            yield UNKNOWN, register if kept else None, 0
        elif register in instruction.spoilt:
            yield UNKNOWN, None, 0
        elif instruction.written != register:
            yield UNKNOWN, register, 0
        elif name.startswith("mov") and operands[0].startswith("$"):
            yield int(operands[0][1:], 16), None, 0
        elif name.startswith("lea") and instruction.target is not None:
            yield instruction.target, None, 0
        elif name.startswith("xor") and operands[0] == operands[1]:
            yield 0, None, 0
        elif name.startswith("or") and operands[0].startswith("$"):
            yield UNKNOWN, register, int(operands[0][1:], 16)
        elif name.startswith(("mov", "cmov")) and _place(operands[0]):
            yield UNKNOWN, _place(operands[0]), 0
            if name.startswith("cmov"):
                yield UNKNOWN, register, 0
        else:
            yield UNKNOWN, None, 0
