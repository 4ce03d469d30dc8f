"""Completion for bash, zsh and fish: click's own for programs in Python, for others from options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete
from programs import Option, Program, click_main

_MADE = "# Made by `make pages` from the options of {name}: change them there.\n"
_FILES = ("FILE", "PATH")
_FOLDERS = ("DIRECTORY",)


def completions(programs: Iterable[Program]) -> dict[str, str]:
    """Return the scripts by their paths in the checkout."""
    made = {}
    for program in programs:
        if not program.by_hand:
            continue
        for path, click_class, own in _SHELLS:
            text = own(program) if program.compiled else _clicks(program.name, click_class)
            made[f"{program.folder}/share/{path.format(name=program.name)}"] = text
    return made


def _clicks(name: str, click_class: type[ShellComplete]) -> str:
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    asked = click_class(click_main(name), {}, name, variable)
    return asked.source_template % asked.source_vars()


def _bash(program: Program) -> str:
    function = f"_{program.name.replace('-', '_')}"
    options = program.commands[0].options
    words = " ".join(name for option in options for name in option.names)
    valued = "|".join(name for option in options if option.value for name in option.names)
    runs = program.commands[0].arguments.startswith("[OPTIONS] PROGRAM")
    after = f"""\
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${{COMP_WORDS[i]}} in
            {valued}) ((i++)) ;;
            -*) ;;
            *)
                declare -F _command_offset >/dev/null && _command_offset "$i"
                return
                ;;
        esac
    done
"""
    commands = '    COMPREPLY=($(compgen -c -- "$current"))\n'
    return f"""\
{_MADE.format(name=program.name)}{function}() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} i
    COMPREPLY=()
    case ${{COMP_WORDS[COMP_CWORD - 1]}} in {valued}) return ;; esac
{after if runs else ""}\
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "{words}" -- "$current"))
        return
    fi
{commands if runs else ""}}}
complete -o default -o bashdefault -F {function} {program.name}
"""


def _zsh(program: Program) -> str:
    lines = [f"#compdef {program.name}", _MADE.format(name=program.name).rstrip(), "_arguments -S \\"]
    for option in program.commands[0].options:
        says = re.sub(r"[\[\]:'\\]", " ", _short(option))
        action = "_files" if option.value in _FILES else "_files -/" if option.value in _FOLDERS else " "
        repeated = "*" if "repeated" in option.help or "several times" in option.help else ""
        value = f":{option.value}:{action}" if option.value else ""
        lines += [
            f"  '{repeated}{name}{'=' if value and name.startswith('--') else ''}[{says}]{value}' \\"
            for name in option.names
        ]
    if program.commands[0].arguments.startswith("[OPTIONS] PROGRAM"):
        lines += ["  '(-)1:program:_command_names -e' \\", "  '*::arguments:_normal'"]
    else:
        lines.append("  '*:argument:_files'")
    return "\n".join(lines) + "\n"


def _fish(program: Program) -> str:
    lines = [_MADE.format(name=program.name).rstrip()]
    for option in program.commands[0].options:
        names = " ".join(
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
        )
        value = "" if not option.value else " -r -F" if option.value in _FILES + _FOLDERS else " -x"
        says = _short(option).replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"complete -c {program.name} {names}{value} -d '{says}'")
    if program.commands[0].arguments.startswith("[OPTIONS] PROGRAM"):
        lines.append(f"complete -c {program.name} -x -a '(__fish_complete_subcommand)'")
    return "\n".join(lines) + "\n"


def _short(option: Option) -> str:
    """The first clause of what an option says."""
    text = re.sub(r" \([^)]*\)", "", option.help)
    return re.split(r"(?:[.;:] |, and | \[)", text)[0].rstrip(".")


_SHELLS: tuple[tuple[str, type[ShellComplete], Callable[[Program], str]], ...] = (
    ("bash-completion/completions/{name}", BashComplete, _bash),
    ("zsh/site-functions/_{name}", ZshComplete, _zsh),
    ("fish/vendor_completions.d/{name}.fish", FishComplete, _fish),
)
