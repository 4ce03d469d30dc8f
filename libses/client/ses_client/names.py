"""Names of users as Linux, SSSD and winbind have them: accounts are called as the service takes them."""

from __future__ import annotations

import re

from ses_client.limits import MAX_NAME

USER = re.compile(rf"(?!-)(?=.{{1,{MAX_NAME}}}\Z)[\w.@+\\-]+\$?")
USER_FORM = f"letters and digits of any script, . _ - @ + \\, a $ at its end; at most {MAX_NAME}"
