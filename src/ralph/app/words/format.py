"""Numbers, times and foreign text as people read them. Stdlib only: `ralph status` starts with this.

Here: one value in, a few words out. Not here: whole lines (`lines`), screens (`display`), reports.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

GOOD = ("verified", "satisfied")  # outcomes after which nothing is missing
DOT = " · "
_LONGEST_WORD = 14  # every shape of secret that `core.text.clean` knows without = or : has a longer word

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "amber": "33", "blue": "34"}
MARKS = {"pass": "✔", "fail": "✘", "error": "!", "skipped": "-", "flaky": "~", "unknown": "?"}


def safe(text: str, width: int = 200) -> str:
    """Foreign text on one line: cleaned, redacted, cut. Dull text is let through without the patterns."""
    if len(text) <= width and _is_dull(text):
        return " ".join(text.split())
    from ralph.core.text.clean import clean, one_line, redact

    return one_line(redact(clean(text)), width)


def _is_dull(text: str) -> bool:
    """Nothing in it that `core.text.clean` could take out: no control, no name=value, no word as long as a
    key."""
    words = text.split("/") if text.startswith("/") and " " not in text else text.split()
    return (
        text.isascii()
        and text.isprintable()
        and "=" not in text
        and ":" not in text
        and "-----" not in text
        and (not words or len(max(words, key=len)) <= _LONGEST_WORD)
    )


def cut_words(text: str, width: int) -> str:
    """At most `width` characters, cut between words where there are some."""
    if len(text) <= width:
        return text
    if width < 2:
        return text[: max(0, width)]
    head = text[: width - 1]
    at = head.rfind(" ")
    return (head[:at].rstrip() if at > width // 2 else head) + "…"


def safe_lines(text: str) -> str:
    """Foreign text of many lines: cleaned and redacted."""
    from ralph.core.text.clean import clean, redact

    return redact(clean(text))


def clock(seconds: float) -> str:
    """0:41, 24:10, 4:00:00."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"


def brief_seconds(seconds: float) -> str:
    """How long a check took: 2.1s, 41s, 3:05."""
    return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s" if seconds < 60 else clock(seconds)


def ago(seconds: float) -> str:
    for size, letter in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{letter} ago"
    return f"{max(0, int(seconds))}s ago"


def dollars(amount: float) -> str:
    """$1.92; small amounts keep enough digits not to look like nothing."""
    return f"${amount:.2f}" if amount == 0 or amount >= 0.01 else f"${amount:.4f}"


def cost_words(cost: float | None, blind: int, calls: int, *, estimated: bool = False) -> str:
    """What was spent. Calls that did not tell are never counted as free; what Ralph computed has a ≈."""
    if not calls:
        return dollars(0)
    if cost is None:
        return "cost unknown"
    amount = f"≈{dollars(cost)}" if estimated else dollars(cost)
    return f"{amount} + {plural(blind, 'call')} of unknown cost" if blind else amount


def role_spend_words(spend: Mapping[str, Any]) -> str:
    """What one role of a team used, as a summary stores it: what is not in there is nothing, or unknown."""
    calls, tokens = spend.get("calls", 0), spend.get("tokens")
    if not calls:
        return "not called"
    used = "tokens unknown" if tokens is None else f"{thousands(tokens)} tokens"
    cost = cost_words(
        spend.get("cost"), spend.get("blind", 0), calls, estimated=spend.get("estimated", False)
    )
    return f"{plural(calls, 'call')}, {used}, {cost}"


def first_paragraph(task: str) -> str:
    """What a task of several paragraphs is called where there is room for one line."""
    return task.strip().partition("\n\n")[0]


def plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def thousands(number: int) -> str:
    return f"{number:,}"


def plus_minus(added: int, removed: int) -> str:
    return f"+{added} \N{MINUS SIGN}{removed}"


def change_words(files: int, added: int, removed: int) -> str:
    return f"{plus_minus(added, removed)} in {plural(files, 'file')}"


def short(commit: str) -> str:
    return commit[:7]


def short_name(loop: str) -> str:
    """The name of a loop without the letters that make it unique: beside its number they say nothing."""
    head, _, tail = loop.rpartition("-")
    return head if head and len(tail) == 8 else loop


def stamp(at: float) -> str:
    """Wall clock of a moment, in the reader's own zone."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def iso(at: float) -> str:
    """2026-01-31T10:31:02.125Z"""
    millis = round(at * 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(millis // 1000)) + f".{millis % 1000:03}Z"


def bar(used: float, limit: float, cells: int) -> str:
    full = min(cells, int(cells * used / limit)) if limit > 0 else cells
    return "█" * full + "░" * (cells - full)


def table(rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """Columns padded to their widest cell; the last one is left as it is."""
    if not rows:
        return []
    *columns, _ = zip(*rows, strict=True)
    line = indent + "".join(f"{{:<{max(map(len, column))}}}  " for column in columns) + "{}"
    return [line.format(*row).rstrip() for row in rows]


def use_colour(stream: IO[str], env: Mapping[str, str]) -> bool:
    """NO_COLOR beats FORCE_COLOR beats what the stream is."""
    if env.get("NO_COLOR"):
        return False
    forced = env.get("FORCE_COLOR", "")
    if forced:
        return forced != "0"
    return stream.isatty() and env.get("TERM") != "dumb"


def paint(text: str, style: str, on: bool) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if on and text else text


# How a merge of a result stands; the journal's own words are older.
LANDING_WORDS = {"land": "merge", "undo": "undo"}
MERGE_WORDS = {"": "", "landing": "half merged", "landed": "merged", "undoing": "half undone"}


def landed_words(direction: str, note: str, *, done: bool) -> str:
    return f"{LANDING_WORDS[direction]} {'done' if done else 'not done'}  {safe(note)}".rstrip()


def asked_words(key: str, says: str) -> str:
    """A question with its kind, and with its whole id where its words do not say what it is about."""
    kind, _, subject = key.partition(":")
    named = subject in " ".join(says.replace("=", " ").split())  # as `waiver_name` writes it
    return f"{kind if named else key}: {says}"
