"""Faults of a machine that come, or are there, while a loop is at work: named, with a next step, and a resume
brings the loop to the end that it would have had.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess

import pytest
from kit import CHECK, TASK, agent, ralph_argv

pytestmark = pytest.mark.soak
WORDS = ("loop", TASK, "--check", CHECK, "--display", "plain", "--confirm", "1")
GO = ("--agent-cmd", f"echo waiting; while ! test -e go; do sleep 0.1; done; {agent('honest_steps', 1)}")
READ_ONLY_HOME = 'mount --bind "$HOME" "$HOME" && mount -o remount,ro,bind "$HOME" "$HOME" && '
FULL_TMP = 'mount -t tmpfs -o size=64k none "$TMPDIR" && ! head -c 99999 /dev/zero >"$TMPDIR"/x 2>&1 && '


def start(place):
    """A loop whose agent waits for `go_on`."""
    running = place.start(*WORDS, *GO)
    running.until_call("waiting")
    return running, place.newest().loop.sealed.loop


def go_on(place, name):
    (place.state / "workspaces" / name / "go").touch()


def resume(place, name):
    done = place.ralph("resume", name, "--display", "plain")
    assert (done.code, place.newest().loop.outcome) == (0, "verified"), done.report()


def test_no_more_files_may_be_opened(place):
    """What was recorded stays, the error is about files and not about the disk, and a resume goes on."""
    running, name = start(place)
    resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (8, 8))
    go_on(place, name)
    done = running.wait()
    assert (done.code, "[E-FILES]" in done.err, "ulimit -n" in done.err) == (4, True, True), done.report()
    resume(place, name)
    place.no_process_left()


def test_the_repository_goes_away_and_comes_back(place):
    """The repository is named, not the private directory that git speaks of; the loop is paused."""
    running, name = start(place)
    os.rename(place.repo, place.top / "elsewhere")
    go_on(place, name)
    done = running.wait()
    os.rename(place.top / "elsewhere", place.repo)
    assert (done.code, "[E-FOLDER-GONE]" in done.err, f"'{place.repo}'" in done.err) == (4, True, True), (
        done.report()
    )
    assert place.newest().loop.phase == "paused"
    resume(place, name)


@pytest.mark.parametrize(
    ("line", "state", "code", "says"),
    [
        (READ_ONLY_HOME, "home", 4, "/var/tmp/ralph-"),  # not in the home again
        (READ_ONLY_HOME, "", 0, "VERIFIED_DONE"),
        (FULL_TMP, "", 0, "VERIFIED_DONE"),
    ],
)
def test_a_folder_that_takes_nothing(place, line, state, code, says):
    """A home that is read-only or a full TMPDIR: all the same, or it is said where else state can be."""
    (place.top / "tmp").mkdir()
    more = {"RALPH_STATE_DIR": str(place.home / "state")} if state else {}
    words = [*ralph_argv(), *WORDS, "--agent-cmd", agent("honest_steps", 1)]
    done = subprocess.run(
        ["unshare", "-rm", "/bin/sh", "-c", f'{line} exec "$@"', "sh", *words],
        cwd=place.repo,
        env=place.env(TMPDIR=str(place.top / "tmp"), **more),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    if "unshare" in done.stderr:
        pytest.skip("no user namespace can be made here")
    assert (done.returncode, says in done.stdout + done.stderr) == (code, True), done.stdout + done.stderr


@pytest.mark.parametrize("where", ["repo", "state"])
def test_a_file_system_of_a_program_serves_until_it_dies(place, where):
    """A repository or a state directory on FUSE is one like others; when its server is killed in the middle,
    the error says so, and with the file system back a resume goes on.
    """
    top, behind = getattr(place, where), place.top / "behind"
    os.rename(top, behind)
    top.mkdir(mode=0o700)
    server = serve(behind, top)
    try:
        running, name = start(place)
        server.send_signal(signal.SIGKILL)
        server.wait()
        root = behind if where == "state" else place.state
        (root / "workspaces" / name / "go").touch()
        running.process.wait(120)
        said = running.err.read_text()
        subprocess.run(["umount", "-l", top], check=True)
        server = serve(behind, top)
        assert running.process.returncode == 4, said
        # What the kernel still remembers of a dead folder decides which of both is seen.
        dead = "does not answer  [E-DISK-IO]" in said
        assert dead or (where == "repo" and "[E-FOLDER-GONE]" in said), said
        resume(place, name)
    finally:
        subprocess.run(["umount", "-l", top], check=False)
        server.wait(60)
        top.rmdir()
        os.rename(behind, top)


def serve(behind, top):
    bindfs = shutil.which("bindfs")
    assert bindfs, "make soak installs it for root; else: apt install bindfs"
    server = subprocess.Popen([bindfs, "-f", str(behind), str(top)])
    while not os.path.ismount(top):
        assert server.poll() is None
    return server
