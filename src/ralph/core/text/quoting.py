"""Foreign text in a prompt: between two lines that it cannot know, so that it cannot end its own quotation.

The mark is a nonce that the caller makes anew for each call. Cleaning and redacting come before this; what
stands between the lines is called data or instructions by whoever puts it there.
"""

from __future__ import annotations

import re

from ralph.core.text.clean import one_line

MAX_NAME = 120
INSTEAD = "·"  # for a nonce inside the text: not nothing, or the two sides of it could make a new one
BEGINS = re.compile(r"--- .{1,200} ([0-9a-z]{4,64}) begins ---")
ENDS = "ends ---"


def fence_text(name: str, text: str, nonce: str) -> str:
    """The text between its two lines; `name` says what it is."""
    shown = strip_nonce(one_line(name, MAX_NAME), nonce)
    body = strip_nonce(text, nonce).strip("\n")
    return f"--- {shown} {nonce} begins ---\n{body}\n--- {shown} {nonce} {ENDS}"


def strip_nonce(text: str, nonce: str) -> str:
    return text.replace(nonce, INSTEAD) if nonce else text
