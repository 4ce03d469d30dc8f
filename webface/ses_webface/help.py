"""The help page: the first steps, the words that pages use, the commands that do the same."""

from flask import Blueprint, render_template

blueprint = Blueprint("help", __name__, url_prefix="/help")

WORDS = (
    (
        "storage element",
        "One place a file can go: a Lustre OST or pool, a branch of a union, or a directory of a set.",
    ),
    (
        "requirement",
        "The least that is needed of storage, such as a write rate of 50 MB/s. Soft: a place that misses it "
        "is ranked lower. Hard: such a place is refused.",
    ),
    ("weight", "How much a soft requirement counts beside the others; 1 if none is given."),
    ("profile", "Requirements under the name of what a program does, such as checkpoint."),
    (
        "application",
        "A program, by the last part of the name it was started by: dd for /usr/bin/dd, python3 for a script "
        "of Python. To distinguish scripts, name each: ses-run --application NAME.",
    ),
    ("VO", "Virtual organisation: a group of users with requirements that hold for all of them."),
    ("current rate", "What a stream that starts now would get. For files that are written or read at once."),
    ("average rate", "The same by the load of the last minutes. For files that stay open for long."),
    ("distance", "How far a place falls short of what is needed: 0 meets all."),
    (
        "verdict",
        "Whether a file got what was required: met, nearly met (at least 80 % of it), missed, or cannot say, "
        "where too little moved or the data may still be in memory.",
    ),
    (
        "run",
        "A program that runs on each of many files, on the node that holds it. It runs as you, where you "
        "started ses serve-runs; the portal itself runs nothing.",
    ),
    ("job", "A job of the scheduler that ran the program, such as one of Slurm."),
)


@blueprint.get("")
def overview() -> str:
    """Show the help."""
    return render_template("help.html", words=WORDS)
