"""A loop needs no screen: what a worker would do, in a process that cannot import `ralph.ui`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Drives a whole loop through `ralph.app`; prints one line of JSON for each thing that happened.
PROGRAM = """
import json, os, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("click", "rich") or name.startswith("ralph.ui"):
            raise ModuleNotFoundError(f"{name} must not be needed")

sys.meta_path.insert(0, Refuse())
from ralph.app.drive import DriveRequest, drive
from ralph.app.start import prepare_start, start
from ralph.app.tell import Quiet, send_and_wait
from ralph.core.model.events import PauseAsked, ResumeAsked, Steered
from ralph.shell.landing.commands import send
from ralph.shell.start.request import StartRequest

env = dict(os.environ)
agent = "sh -c 'cat >prompt.txt; if [ -e begun.txt ]; then echo done >work.txt; "
agent += "else sleep 0.6; touch begun.txt; fi'"
request = StartRequest(task="make the check pass", cwd=os.getcwd(), checks=("sh check.sh",), agent_cmd=agent)
started = start(prepare_start(request, env), env)

class Pausing(Quiet):
    def event(self, seq, event, loop):
        if type(event).__name__ == "AgentStarted":
            send(started.name, env, PauseAsked(reason="later"), 0.0)

def go_on(watcher, *first, stint=None):
    room = {"min_free": started.min_free, "max_loops": started.max_loops}
    driven = drive(DriveRequest(name=started.name, first=first, **room), env, watcher, stint=stint)
    loop, papers = driven.loop, driven.papers
    with open(papers.report) as file:
        head = file.read()[:400]
    print(json.dumps([loop.phase, loop.outcome, loop.grade, driven.exit_code, head, papers.proof]))

go_on(Pausing(), stint=started.stint)
told = send_and_wait(started.name, env, Steered(text="be kind"), until="", drive=False)
print(json.dumps([one.text for one in told.steers]))
go_on(Quiet(), ResumeAsked(author="test"))
print(json.dumps(sorted(name for name in sys.modules if name.startswith(("ralph.ui", "click", "rich")))))
"""


@pytest.mark.slow
def test_a_loop_is_started_paused_told_resumed_reported_and_attested_without_a_screen(tmp_path):
    """Report and signed proof come with the driving, not with the screen."""
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "check.sh").write_text("grep -q done work.txt\n")
    (repo / "work.txt").write_text("nothing yet\n")
    (repo / ".gitignore").write_text("prompt.txt\n")
    env = {
        **os.environ,
        "RALPH_STATE_DIR": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "a"],
    ):
        subprocess.run(["git", *words], cwd=repo, env=env, check=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=repo,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    paused, steers, ended, loaded = (json.loads(line) for line in done.stdout.splitlines())
    assert paused[:4] == ["paused", None, None, 1]
    assert "PAUSED" in paused[4]
    assert paused[5] == ""
    assert steers == ["be kind"]
    assert ended[:4] == ["ended", "verified", "B", 0]
    assert "VERIFIED_DONE" in ended[4]
    assert json.loads(Path(ended[5]).read_text())["payloadType"] == "application/vnd.in-toto+json"
    assert loaded == []
