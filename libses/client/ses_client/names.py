"""Names of users as Linux, SSSD and winbind have them: accounts are called as the service takes them."""

from __future__ import annotations

import re

MAX_USER = 128  # characters
USER = re.compile(rf"(?!-)[\w.@+\\-]{{1,{MAX_USER}}}\$?")
USER_FORM = f"letters and digits of any script, . _ - @ + \\, a $ at its end; at most {MAX_USER}"
