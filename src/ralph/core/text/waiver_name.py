"""The id of a finding as a user can type it: it ends before "=", and screens squeeze spaces."""

import re

_UNSAID = re.compile(r"[=\s\x00-\x1f\x7f-\x9f]+")
_LONGEST = 300


def waiver_name(key: str) -> str:
    return _UNSAID.sub(" ", key)[:_LONGEST].strip()
