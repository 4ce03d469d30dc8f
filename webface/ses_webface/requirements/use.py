"""The lines that ask for the same in a shell, a Slurm job, C++ and Python.

Each states the requirements themselves, so that it also holds where the set is changed or not looked up.
"""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from ses_client.messages.requirements import Requirement
from ses_client.messages.vocabulary import Vocabulary

from ses_webface.quantities import as_stated

# What programs can ask for by themselves: the setter of C++, in MB/s or GB; the constant; Python's argument.
_BY_KIND = {
    "current-read-rate": ("setCurrentReadTransferRate", "SES_CURRENT_READ_RATE", "current_read_rate"),
    "average-read-rate": ("setAverageReadTransferRate", "SES_AVERAGE_READ_RATE", "average_read_rate"),
    "current-write-rate": ("setCurrentWriteTransferRate", "SES_CURRENT_WRITE_RATE", "current_write_rate"),
    "average-write-rate": ("setAverageWriteTransferRate", "SES_AVERAGE_WRITE_RATE", "average_write_rate"),
    "free-capacity": ("setCapacity", "SES_FREE_CAPACITY", "capacity"),
}


@dataclass(frozen=True, slots=True)
class Example:
    """How to ask for it in one place: its name, what to know before, and the lines."""

    title: str
    hint: str
    lines: str


def examples(requirements: Iterable[Requirement], words: Vocabulary) -> tuple[Example, ...]:
    """Return the lines for requirements; none where programs cannot ask for any of their kinds."""
    asked = [_quantity(requirement, words) for requirement in requirements if requirement.kind in _BY_KIND]
    if not asked:
        return ()
    text = shlex.quote(" ".join(_written(requirement, number, unit) for requirement, number, unit in asked))
    return (
        Example("Shell", "The program needs no change.", f"ses-run --require {text} -- ./program"),
        Example("Slurm", "In the job script, or behind srun and sbatch.", f"#SBATCH --storage={text}"),
        Example("C++", "c++ -std=c++17 program.cpp $(pkg-config --cflags --libs ses)", _cpp(asked)),
        Example("Python", "Package python3-ses.", _python(asked)),
    )


def left_out(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Return those that only a set can state."""
    return tuple(requirement for requirement in requirements if requirement.kind not in _BY_KIND)


def _quantity(requirement: Requirement, words: Vocabulary) -> tuple[Requirement, str, str]:
    """Return it with its number, without an exponent, and its unit."""
    number, unit = as_stated(requirement, words.kind(requirement.kind))
    return requirement, format(Decimal(number), "f"), unit


def _written(requirement: Requirement, number: str, unit: str) -> str:
    weight = "" if requirement.weight in (None, 1.0) else f",weight={requirement.weight:g}"
    return f"{requirement.kind}>={number}{unit}{'!' if requirement.strictness == 'hard' else ''}{weight}"


def _cpp(asked: Iterable[tuple[Requirement, str, str]]) -> str:
    lines = ["#include <ses/ses.hpp>", "", "int create() {", "  StoragePolicy policy;"]
    for requirement, _number, _unit in asked:
        setter, constant, _argument = _BY_KIND[requirement.kind]
        lines.append(f"  policy.{setter}({requirement.bound:.15g}); // {requirement.unit}")
        if requirement.strictness == "hard":
            lines.append(f"  policy.setHard({constant});")
        if requirement.weight not in (None, 1.0):
            lines.append(f"  policy.setWeight({constant}, {requirement.weight:g});")
    return "\n".join([*lines, '  return LustreManager().createFile("results.dat", &policy);', "}"])


def _python(asked: Iterable[tuple[Requirement, str, str]]) -> str:
    arguments, after, imported = [], [], ["LustreManager", "StoragePolicy"]
    for requirement, number, unit in asked:
        _setter, constant, argument = _BY_KIND[requirement.kind]
        kind = f"Kind.{constant.removeprefix('SES_')}"
        arguments.append(f'{argument}="{number}{unit}"')
        if requirement.strictness == "hard":
            after.append(f"policy.set_hard({kind})")
        if requirement.weight not in (None, 1.0):
            after.append(f"policy.set_weight({kind}, {requirement.weight:g})")
    return "\n".join(
        [
            f"from ses.api import {', '.join([*(['Kind'] if after else []), *imported])}",
            "",
            f"policy = StoragePolicy({', '.join(arguments)})",
            *after,
            'with LustreManager().open("results.dat", policy, "w") as file:',
            '    file.write("...")',
        ]
    )
