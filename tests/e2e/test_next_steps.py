"""What every error offers as its next step, run as it stands in a project where the error is met."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import sys
import tarfile
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from effort import part_of
from kit import search_path

from ralph.app.words.error_pages import error_pages

HERE = Path(__file__).parent
OLD = Path("/tmp/ralph-golden")  # journals hold absolute paths: see tests/golden
# What only a race, a failing machine or another program brings about: here the next lines are run as they
# stand in the code, in the place named; where something is filled in, it is the loop "verified" or of it.
TOLD = {
    "repo": """
E-AGENT-UNHELD E-STATE-NOT-A-DIRECTORY E-STATE-LINK E-CLEAN-ASK E-OUTPUT E-DEMO-GIT E-BRANCH-CHECKED-OUT
E-BRANCH-PREFIX E-STATE-READONLY E-GIT-OBJECTS E-INIT-TOML E-BUNDLE-BAD E-REPORT-COPY E-SPEC-KIND
E-SPEC-TEXT E-SPEC-LARGE E-SPEC-LINK E-SPEC-MANY E-SPEC-NUMBER E-AGENT-HOOKS E-AGENT-PROTOCOL E-BLOB-DAMAGED
E-BLOB-MISSING E-BLOB-NAME E-BLOB-SOURCE E-BUG E-CHECKOUT E-DEMO-FOLDER E-DEMO-SCRIPT E-DISK-LOW E-GIT
E-GIT-HELD E-GIT-LFS E-GIT-LOCKED E-GIT-PATH E-GIT-PRUNED E-GIT-TIMEOUT E-ILLEGAL-EVENT E-JOURNAL-BODY
E-JOURNAL-BUSY E-JOURNAL-DAMAGED E-JOURNAL-FENCED E-JOURNAL-GARBLED E-JOURNAL-ILLEGAL E-JOURNAL-MOVED
E-LAND-BUSY E-LEARNED-FILE E-LEARNED-LINK E-LEARNED-THERE E-LOCK-UNUSABLE E-LOOP-LOCKED E-LOOP-NEWER
E-LOOPS-STARTING E-MCP-ARGUMENT E-MCP-LIMIT E-SESSION-CONTINUE E-SKILLS-MOVED E-SPAWN E-STATE
E-STATE-NETWORK E-STATE-UNREADABLE E-BACKLOG-BUSY E-WORKER-BUSY E-LOOP-UNHEARD
""",
    "loops": """
E-CHECK-MADE E-LAND-UNTRACKED E-GIT-KILLED E-LAND-EMPTY E-LAND-EDITED E-LAND-NOT
E-LAND-NOT-FF E-LAND-RED E-LAND-REFUSED E-LAND-UNJUDGED E-LAND-UNPROVEN E-MCP-REVIEW E-PROMPT-GONE
E-PROMPT-NONE E-REF-MOVED E-RESUME-CHECK E-RESUME-CHECKPOINT E-RESUME-ITEM E-RESUME-LIMITS E-UNDO-REFUSED
E-WORKSPACE-FILES
""",
}

# Codes whose next line cannot be run in a test, and why.
UNRUN = {
    "E-AGENT-LOGIN": "a login needs a browser and an account",
    "E-JOURNAL-NEWER": "installs a newer Ralph from the package index",
    "E-MCP-MISSING": "installs from the package index",
    "E-PLAN-WRITE": "the line of E-PLAN-MOVED, on a disk that takes nothing",
}

# What every script may use: the next line is taken from the error and evaluated in the user's own shell.
SHELL = """
loop() { ralph loop "make it pass" --agent-cmd ./agent.sh --display none "$@"; }
git_() { git -c user.name=me -c user.email=me@example.invalid "$@"; }
raises() { "$PYTHON" -c '
import sys
from ralph.errors import RalphError
from ralph.ui.words.errors import show
try:
    exec(sys.argv[1])
except RalphError as error:
    show(error, as_json=False, stdout=sys.stdout, stderr=sys.stderr, colour=False)
    sys.exit(error.exit_code)
' "$1"; }
said="$TOP/said"
"""
RUN = """
{ %s
} >"$TOP/out" 2>"$said" </dev/null; echo "code $?"
PATH=/usr/bin:/bin cat "$said" "$TOP/out"
next=$("$PYTHON" -S -c "$FIND" <"$said") || next=$("$PYTHON" -S -c "$FIND" <"$TOP/out")
if [ -n "$next" ]; then
  eval "$next" >"$TOP/out" 2>&1 </dev/null; echo "then $?"; PATH=/usr/bin:/bin tail -c 3000 "$TOP/out"
fi
"""
# The first line that is offered, on a screen or in JSON.
FIND = r"""
import json, re, sys
found = re.search(r'^  next  (.*)|"next": ("(?:[^"\\]|\\.)*")', sys.stdin.read(), re.MULTILINE)
sys.exit(1) if not found else print(found[1] or json.loads(found[2]))
"""
AGAIN = """
echo "-- again"; { %s
} 2>&1 </dev/null
"""


class Row(NamedTuple):
    place: str
    code: str
    cures: bool
    exit_code: int
    script: str


def rows() -> list[Row]:
    found = []
    for line in (HERE / "next_lines.txt").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        place, marked, script = line.split(None, 2)
        code, cures, number = re.fullmatch(r"([A-Z0-9-]+)(!?)(?:=(\d+))?", marked).groups()
        found.append(Row(place, code, bool(cures), int(number or 0), script))
    return found


@contextmanager
def made(place: str, tmp_path: Path):
    """The project of a row, and the environment of its user."""
    top = OLD if place == "loops" else tmp_path
    lock = open("/tmp/ralph-golden.lock", "w") if place == "loops" else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(OLD, ignore_errors=True)
        with tarfile.open(HERE.parent / "golden" / "state.tar.gz") as archive:
            archive.extractall(OLD.parent, filter="tar")
    try:
        yield top, environment(top)
    finally:
        if lock:
            shutil.rmtree(OLD, ignore_errors=True)
            lock.close()


def environment(top: Path) -> dict[str, str]:
    for name in ("home", "config/ralph", "state", "tmp", "repo", "bin"):
        (top / name).mkdir(parents=True, exist_ok=True)
    (top / "state").chmod(0o700)
    ralph = top / "bin" / "ralph"
    if not ralph.exists():
        ralph.symlink_to(Path(sys.executable).with_name("ralph"))
    return {
        "PATH": search_path(str(top / "bin")),
        "HOME": str(top / "home"),
        "TOP": str(top),
        "PYTHON": sys.executable,
        "FIND": FIND,
        "XDG_CONFIG_HOME": str(top / "config"),
        "RALPH_STATE_DIR": str(top / "state"),
        "TMPDIR": str(top / "tmp"),
        "LANG": "C.UTF-8",
        "EDITOR": "true",
        "RALPH_CONFIRM": "1",
        "COLUMNS": "200",
        **{
            f"GIT_{who}_{what}": f"me{mail}"
            for who in ("AUTHOR", "COMMITTER")
            for what, mail in (("NAME", ""), ("EMAIL", "@x"))
        },
    }


FIRST = {
    "repo": "",
    "loops": "",
    "backlog": 'ralph backlog init; ralph backlog add "Log in" --verify "sh check.sh"; '
    'ralph backlog add "Log out" --after FEAT-001 --verify "sh check.sh"; git_ add -A; git_ commit -qm list',
}
REPO = """
git init -q -b main .
printf '#!/bin/sh\\nexit 1\\n' | tee agent.sh >check.sh; chmod 755 agent.sh check.sh
git_ add -A; git_ commit -qm first
"""


@pytest.mark.slow
@pytest.mark.sample(check=0, test=4)
@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.code}-{row.script[:40]}")
def test_the_next_line_of_an_error_is_run_where_it_applies(row, tmp_path):
    """The error is met as a user meets it; what it says to do next is done, and ends as it should."""
    check_row(row, tmp_path)


def check_row(row: Row, tmp_path: Path) -> None:
    with made(row.place, tmp_path) as (top, env):
        before, _, last = row.script.rpartition(";;")
        repo = "" if row.place == "loops" else REPO
        text = "\n".join(
            [
                SHELL,
                f"{{ {repo}\n{FIRST[row.place]}\n:\n}} >/dev/null 2>&1 </dev/null",
                f"{before}\n",
                RUN % last,
            ]
        )
        text += AGAIN % last if row.cures else ""
        done = subprocess.run(
            ["sh", "-c", text],
            cwd=top / "repo",
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    first, _, again = done.stdout.partition("-- again")
    said = f"{row}\n{done.stdout}\n{done.stderr}"
    assert re.search(rf'[\["]{row.code}["\]]', first), said
    codes = dict(re.findall(r"^(code|then) (\d+)$", first, re.MULTILINE))
    assert codes["code"] not in ("0", "70"), said
    assert int(codes.get("then", "-1")) == row.exit_code, said
    assert "[E-USAGE]" not in first.partition("then ")[2], said
    assert not row.cures or row.code not in again, said


@pytest.mark.slow
@pytest.mark.parametrize("place", TOLD)
def test_next_lines_of_errors_that_other_tests_meet(place, tmp_path):
    """What a race or a failing machine brings about offers lines that exist and end as they should, too."""
    every = {line for page in error_pages() if page.code in TOLD[place].split() for line in told(page)}
    lines = part_of(sorted(every), 8)
    with made(place, tmp_path) as (top, env):
        start = ":" if place == "loops" else f"{REPO}mkdir specs; touch specs/01-x.md verified"
        tried = "\n".join(
            f'(cd "$TOP/repo"; {line}) >"$TOP/out" 2>&1; echo "$?"; cat "$TOP/out" >&2' for line in lines
        )
        done = subprocess.run(
            ["sh", "-c", f"{SHELL}\n{{ {start}\n}} >/dev/null\n{tried}"],
            cwd=top / "repo",
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    ended = list(zip(lines, done.stdout.split(), strict=True))
    assert not [one for one in ended if one[1] not in ("0", "1", "3", "6")], f"{ended}\n{done.stderr}"
    assert "[E-USAGE]" not in done.stderr, done.stderr


def told(page) -> list[str]:
    """The line of a page, with things of the place in its gaps; of a bug, what all bugs say."""
    line = page.next or ("ralph version --json" if page.exit_code in (70, None) else "")
    holes = {
        "pid": "$(sleep 9 >/dev/null & echo $!)",
        "pids": "$(sleep 9 >/dev/null & echo $!)",
        "path": "check.sh",
        "place": "check.sh",
    }
    holes |= {
        "again": "true",
        "foreign": "value.txt",
        "new": "HEAD",
        "ref": "HEAD",
        "branch": "ralph/verified",
    }
    holes |= {
        "first": "check.sh",
        "look": "specs",
        "names": "specs/01-x.md",
        "paths": "specs/01-x.md",
        "FOLDER": "specs",
        "…": "specs",
    }
    return [re.sub(r"\{([^{}]*)\}", lambda hole: holes.get(hole[1], "verified"), line)] if line else []


def test_every_error_has_a_row():
    """A new error comes with the place where its next line is tried, or with the reason why it cannot be."""
    codes = {page.code for page in error_pages()}
    tried = [
        {row.code for row in rows()},
        {code for text in TOLD.values() for code in text.split()},
        set(UNRUN),
    ]
    known = set().union(*tried)
    assert known == codes, (sorted(codes - known), sorted(known - codes))
    assert sum(map(len, tried)) == len(known), "in more than one table"
