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

import msgspec
import registry
from changes import Change, Project, pairs, projects
from judge import Judged, judge, trial
from place import install
from summary import as_text, stands, word

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "history.json"
AIM = 0.95


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
    found = find_changes(cache, chosen, words.jobs, words.kind)
    rows = _known() if words.resume else {}
    todo = [(change, suite) for change, suite in found if change.name not in rows]
    print(f"{len(found)} changes of {len(chosen)} projects, {len(todo)} to be judged", file=sys.stderr)
    with ThreadPoolExecutor(words.jobs) as pool:
        asked = [pool.submit(judge, cache, change, suite, words.keep) for change, suite in todo]
        for number, done in enumerate(as_completed(asked), 1):
            row = done.result()
            rows[row.change] = row
            _write(rows)
            _tell(row, number, len(todo))
    shown = sorted((rows[change.name] for change, _ in found), key=lambda row: row.project)
    print(as_text(shown))
    return 0 if sum(map(stands, shown)) >= AIM * len(shown) else 1


def find_changes(
    cache: Path, chosen: list[Project], jobs: int, kinds: list[str]
) -> list[tuple[Change, float]]:
    """Every pair of releases that is a case on this machine, as what it is one."""
    # The first pair of each project, then the second: a run that is stopped tells of all projects.
    every = [pair for one in zip_longest(*map(pairs, chosen)) for pair in one if pair is not None]
    for project in chosen:  # one after the other: two pairs must not install or unpack the same
        install(cache, project)
        for version in project.versions:
            registry.unpacked(cache, project.registry, project.name, version)
    found = []
    with ThreadPoolExecutor(jobs) as pool:
        for pair, tried in zip(every, pool.map(lambda pair: trial(cache, pair), every), strict=True):
            if not tried.kinds():
                codes = f"old {tried.old}, new {tried.new}, new tests on the old source {tried.mixed}"
                print(f"not a case here: {pair.name} (exit codes: {codes}) {tried.says}", file=sys.stderr)
            found += [
                (Change(pair, kind), tried.seconds) for kind in tried.kinds() if not kinds or kind in kinds
            ]
    return found


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
