"""`python bench/history/run.py [--only NAME] [--kind KIND] [--jobs N] [--resume]`: judge, print the tables.

Releases and dependencies are downloaded on first use into a cache outside of the repository; rows are
written to bench/results/history.json as they come in. Exits with 1 when fewer than 95 % stand.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatch
from itertools import zip_longest
from pathlib import Path
from threading import Lock

import msgspec
import registry
from changes import Change, Pair, pairs, projects
from judge import Judged, judge, trial
from place import install
from summary import as_text, stands, word

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "history.json"
AIM = 0.95
_LOCKS: dict[str, Lock] = {}


def main() -> int:
    words = _words()
    chosen = [
        project
        for project in projects(HERE / "projects.toml")
        if not words.only or any(fnmatch(project.name, pattern) for pattern in words.only)
    ]
    if not chosen:
        raise SystemExit(f"no project is called {', '.join(words.only)}")
    cache = Path(words.cache).expanduser().resolve()
    if cache.is_relative_to(HERE.parents[1].resolve()):
        raise SystemExit(f"the cache may not be inside of the repository: {cache}")
    rows = _known() if words.resume else {}
    found: list[str] = []
    with ThreadPoolExecutor(words.jobs) as pool:
        # The first pair of each project, then the second: a run that is stopped tells of all projects.
        every = [pair for one in zip_longest(*map(pairs, chosen)) for pair in one if pair is not None]
        asked = [pool.submit(_judge_pair, cache, pair, words, frozenset(rows)) for pair in every]
        for number, done in enumerate(as_completed(asked), 1):
            names, judged = done.result()
            found += names
            for row in judged:
                rows[row.change] = row
                _write(rows)
                _tell(row, number, len(every))
    shown = sorted((rows[name] for name in found), key=lambda row: (row.project, row.change))
    print(as_text(shown))
    return 0 if sum(map(stands, shown)) >= AIM * len(shown) else 1


def _judge_pair(
    cache: Path, pair: Pair, words: argparse.Namespace, known: frozenset[str]
) -> tuple[list[str], list[Judged]]:
    """The changes that two releases are on this machine, and those of them that were judged now."""
    with _LOCKS.setdefault(pair.project.name, Lock()):  # two pairs must not install or unpack the same
        install(cache, pair.project)
        for version in (pair.old, pair.new):
            registry.unpacked(cache, pair.project.registry, pair.project.name, version)
    tried = trial(cache, pair)
    if not tried.kinds():
        codes = f"old {tried.old}, new {tried.new}, new tests on the old source {tried.mixed}"
        print(f"not a case here: {pair.name} (exit codes: {codes}) {tried.says}", file=sys.stderr)
    found = [Change(pair, kind) for kind in tried.kinds() if not words.kind or kind in words.kind]
    todo = [change for change in found if change.name not in known]
    return [change.name for change in found], [
        judge(cache, change, tried.seconds, words.keep) for change in todo
    ]


def _words() -> argparse.Namespace:
    home = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    asked = argparse.ArgumentParser(description="Replay honest changes of public projects.")
    asked.add_argument(
        "--only", action="append", default=[], metavar="PROJECT", help="by name (globs); repeatable"
    )
    asked.add_argument("--kind", action="append", default=[], choices=("fix", "feature", "other"))
    asked.add_argument("--jobs", type=int, default=1, metavar="N", help="loops at the same time [default: 1]")
    asked.add_argument("--resume", action="store_true", help="keep the rows of the run before")
    asked.add_argument("--cache", default=f"{home}/ralph-bench-history", metavar="DIR")
    asked.add_argument("--keep", type=Path, metavar="DIR", help="write the events of every loop there")
    return asked.parse_args()


def _known() -> dict[str, Judged]:
    if not RESULTS.is_file():
        return {}
    return {row.change: row for row in msgspec.json.decode(RESULTS.read_bytes(), type=list[Judged])}


def _write(rows: dict[str, Judged]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    half = RESULTS.with_suffix(".half")
    half.write_bytes(msgspec.json.format(msgspec.json.encode(list(rows.values())), indent=1))
    half.rename(RESULTS)


def _tell(row: Judged, number: int, total: int) -> None:
    mark = " " if stands(row) else "!"
    print(
        f"{number:>3}/{total} {mark} {row.change:<40} {word(row):<50} {row.seconds:5.1f} s", file=sys.stderr
    )
    if not stands(row):
        for said in row.says:
            print(f"        {' '.join(said.split())[:300]}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
