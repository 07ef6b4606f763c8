"""How a failure looks: what, where, why, next; and the block of a bug, ready to paste.

The errors themselves and their exit codes are in `ralph.errors`. Foreign text inside them (paths, file
names, what git said) is cleaned and redacted here, on the way out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO

from ralph.app.words.format import paint, safe, safe_lines
from ralph.errors import AGAIN, RalphError

_MAX_CHARS = 2000
_MAX_FRAMES = 30
_MAX_TYPED = 400


def error_text(error: RalphError, *, colour: bool = False) -> str:
    """error: gate "tests" cannot run        [E-GATE-MISSING], then at, why and next where they are known."""
    lines = [
        f"{paint('error:', 'red', colour)} {_tidy(error.what)}  {paint(f'[{error.code}]', 'dim', colour)}"
    ]
    for label, text in (("at", error.at), ("why", error.why), ("next", error.next)):
        if text:
            first, *rest = [line for line in safe_lines(text).split("\n") if line.strip()] or [""]
            lines += [f"  {label:<5} {first}", *(f"        {line}" for line in rest)]
    return "\n".join(lines)


def error_envelope(error: RalphError) -> dict[str, dict[str, str]]:
    """The same for programs; `kind` is one of a closed list, `code` is stable."""
    fields = {
        "kind": _KINDS.get(error.code, error.kind),
        "code": error.code,
        "message": _tidy(error.what),
        "at": safe(error.at, _MAX_CHARS),
        "why": safe(error.why, _MAX_CHARS),
        "next": safe(error.next, _MAX_CHARS),
    }
    return {"error": {key: value for key, value in fields.items() if value or key not in ("at", "why")}}


# Kinds that are finer than the class of the error: scripts tell "no such loop" from "bad flag".
_KINDS = {"E-LOOP-UNKNOWN": "not_found", "E-LOOP-NONE": "not_found", "E-LOOP-AMBIGUOUS": "ambiguous"}
KINDS = ("usage", "not_found", "ambiguous", "nothing_to_do", "blocked", "setup", "journal", "busy", "bug")


def bug_text(exc: BaseException, argv: Sequence[str]) -> str:
    """Everything a maintainer asks for first. Secrets on the command line or in a message are taken out."""
    import platform
    import traceback

    from ralph import __version__

    trace = "".join(traceback.format_exception(exc, limit=-_MAX_FRAMES)).rstrip()
    block = "\n".join(
        (
            "```",
            f"ralph     {__version__}",
            f"python    {platform.python_version()} ({sys.executable})",
            f"platform  {platform.platform()}",
            f"command   {_words(argv)}",
            "",
            trace,
            "```",
        )
    )
    what = f"error: this is a bug in Ralph: {type(exc).__name__}: {exc}".splitlines()[0]
    return safe_lines(
        f"{what}  [{getattr(exc, 'code', 'E-BUG')}]\n"
        "  why   nothing that was recorded is lost; please report the block below\n"
        "  next  ralph doctor\n\n"
        f"{block}"
    )


def show(error: RalphError, *, as_json: bool, stdout: IO[str], stderr: IO[str], colour: bool = False) -> None:
    if as_json:
        import json

        print(json.dumps(error_envelope(error), ensure_ascii=False), file=stdout)
    else:
        print(error_text(error, colour=colour), file=stderr)


def next_line(text: str, args: Sequence[str]) -> str:
    """The next step with the command that was typed; for one that no line can hold, the help."""
    typed = _words(("ralph", *args))
    if AGAIN in text and (len(typed) > _MAX_TYPED or not typed.isprintable()):
        return "ralph loop --help"
    return text.replace(AGAIN, typed)


def _tidy(what: str) -> str:
    return safe(what, _MAX_CHARS)


def _words(argv: Sequence[str]) -> str:
    import shlex

    return shlex.join(argv)
