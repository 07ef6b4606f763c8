"""`run.py [--only NAME] [--jobs N] [--keep FILE] [--minutes N] [--json] [--write-docs]`: print the table.

Every case is a whole loop by the installed `ralph`, and a look by a gate that believes exit code 0. It exits
with 1 when an attack was accepted or an honest change refused that the corpus does not know of. With `--keep`
each row is appended to that file, and rows that are there are not judged again. So the whole corpus can be
judged in pieces (`--minutes`).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatch
from math import inf
from pathlib import Path

import msgspec
from corpus import Case, attacks, honest
from place import naive_gate, place, ralph_loop
from table import as_text, unknown, write_docs
from verdicts import Judged, judged


def main() -> int:
    words = _words()
    chosen = [
        (kind, case)
        for kind, cases in (("attack", attacks()), ("honest", honest()))
        for case in cases
        if not words.only or any(fnmatch(case.name, f"{pattern}*") for pattern in words.only)
    ]
    if not chosen:
        raise SystemExit(f"no case is called {', '.join(words.only)}")
    order = [(kind, case.name) for kind, case in chosen]
    rows = [row for row in kept(words.keep) if (row.kind, row.name) in order]
    have = {(row.kind, row.name) for row in rows}
    chosen = [(kind, case) for kind, case in chosen if (kind, case.name) not in have]
    for row in judge_all(chosen, words.jobs, naive=not words.no_naive, seconds=words.minutes * 60):
        rows.append(row)
        if words.keep:
            with words.keep.open("ab") as file:
                file.write(msgspec.json.encode(row) + b"\n")
        if not words.json:
            _tell(row, len(rows), len(order))
    if len(rows) < len(order):
        print(f"{len(order) - len(rows)} of {len(order)} cases are left for another call", file=sys.stderr)
    rows.sort(key=lambda row: order.index((row.kind, row.name)))
    if words.json:
        print(msgspec.json.format(msgspec.json.encode(rows), indent=1).decode())
    else:
        print(as_text(rows))
    if words.write_docs:
        write_docs(rows)
    return 1 if unknown(rows) else 0


def _words() -> argparse.Namespace:
    asked = argparse.ArgumentParser(description="Judge fake greens and honest changes.")
    asked.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="cases whose name begins so (globs)"
    )
    asked.add_argument("--jobs", type=int, default=max(1, min(4, os.cpu_count() or 1)), metavar="N")
    asked.add_argument("--keep", type=Path, metavar="FILE", help="append rows; leave out what stands there")
    asked.add_argument("--minutes", type=float, default=inf, metavar="N", help="begin no case after that")
    asked.add_argument("--json", action="store_true", help="rows as JSON instead of the table")
    asked.add_argument("--no-naive", action="store_true", help="leave the exit-code gate out")
    asked.add_argument("--write-docs", action="store_true", help="put the tables into docs/fakegreen.md")
    return asked.parse_args()


def kept(path: Path | None) -> list[Judged]:
    """Rows of earlier calls; what the machine got in the way of is asked again."""
    lines = path.read_bytes().splitlines() if path and path.exists() else []
    return [row for row in (msgspec.json.decode(line, type=Judged) for line in lines) if not row.trouble]


def judge_all(
    chosen: list[tuple[str, Case]], jobs: int, *, naive: bool, seconds: float = inf
) -> Iterator[Judged]:
    """Every case in a place of its own, some at a time; what the sandbox blocks is looked at once."""
    until = time.monotonic() + seconds
    top = Path(tempfile.mkdtemp(prefix="ralph-fakegreen-"))
    try:
        with ThreadPoolExecutor(jobs) as pool:
            asked = [pool.submit(_judge_until, until, case, kind, top, naive) for kind, case in chosen]
            for done in as_completed(asked):
                row = done.result()
                if row is not None:
                    yield row
    finally:
        shutil.rmtree(top, ignore_errors=True)


def _judge_until(until: float, case: Case, kind: str, top: Path, naive: bool) -> Judged | None:
    return judge(case, kind, top, naive=naive) if time.monotonic() < until else None


def judge(case: Case, kind: str, top: Path | None = None, *, naive: bool = True) -> Judged:
    seen = top / "protection.json" if top else None
    with place(top) as here:
        fresh = Path(here.env["RALPH_STATE_DIR"]) / "protection.json"
        if seen and seen.exists():
            shutil.copy(seen, fresh)
        ended = ralph_loop(case, here)
        if seen and fresh.exists() and not seen.exists():
            shutil.copy(fresh, seen)
    if not naive:
        return judged(case, kind, ended, None)
    with place(top) as here:
        return judged(case, kind, ended, naive_gate(case, here))


def _tell(row: Judged, number: int, total: int) -> None:
    what = "TROUBLE" if row.trouble else "accepted" if row.accepted else "refused"
    wrong = row.accepted == (row.kind == "attack")
    mark = "!" if row.trouble or (wrong and not row.known) else "~" if wrong else " "
    by = ", ".join(row.by) if not row.accepted else f"grade {row.grade}"
    print(
        f"{number:>3}/{total} {mark} {row.name:<42} {what:<9} {by[:60]:<60} {row.seconds:5.1f} s"
        f"{'' if row.naive is None else '  naive: ' + ('accepted' if row.naive else 'refused')}",
        file=sys.stderr,
        flush=True,
    )
    if mark == "!":
        print(f"        {(row.trouble or row.says)[:400]}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
