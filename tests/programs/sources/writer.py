"""Files of every kind CPython opens."""

import os
import pathlib
import shutil
import tempfile
import zipfile

pathlib.Path("one").write_text("1")
with open("two", "xb") as two:  # noqa: PTH123
    two.write(b"2")
os.close(os.open("three", os.O_CREAT | os.O_WRONLY, 0o600))
pathlib.Path("four").touch()
directory = os.open(".", os.O_RDONLY)
os.close(os.open("five", os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o644, dir_fd=directory))
tempfile.NamedTemporaryFile().close()
tempfile.mkstemp(dir=".")
shutil.copy("one", "six")
zipfile.ZipFile("seven", "w").write("one")
os.mknod("eight", 0o600)
with open("one", "a") as file:  # noqa: PTH123
    file.write("again")
