"""A loop needs no screen: what a worker would do, in a process that cannot import `ralph.ui`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Drives a whole loop through `ralph.app`; prints one line of JSON for each thing that happened.
PROGRAM = """
import json, os, sys, threading

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("click", "rich") or name.startswith("ralph.ui"):
            raise ModuleNotFoundError(f"{name} must not be needed")

sys.meta_path.insert(0, Refuse())
from ralph.app.criterion.adopt import Consent
from ralph.app.criterion.infer import InferRequest, infer
from ralph.app.drive import DriveRequest, drive
from ralph.app.place import find_loop
from ralph.app.records import read_loop
from ralph.app.report.report_files import report_md, report_of
from ralph.app.results.attest import attest, export_bundle
from ralph.app.results.drop import drop, find_belongings
from ralph.app.results.land import MergeRequest, merge, undo
from ralph.app.results import verify as verifying
from ralph.app.results.verify import VerifyRequest, verify
from ralph.app.resume import MoreRoom, ResumeRequest, prepare_resume
from ralph.app.start import StartRequest, prepare_start, start
from ralph.shell.ports import Quiet
from ralph.app.tell import pause_loop, steer_loop

env = dict(os.environ)
agent = "sh -c 'cat >prompt.txt; if [ -e begun.txt ]; then echo done >work.txt; "
agent += "else sleep 0.6; touch begun.txt; fi'"
def tell(*facts):
    print(json.dumps(facts))

found = infer(InferRequest(task="make `sh check.sh` pass", cwd=os.getcwd(), execute=False), env, Consent())
tell(found.proposal.verification_command, bool(found.approval))
request = StartRequest(task="make the check pass", cwd=os.getcwd(), checks=("sh check.sh",), agent_cmd=agent)
started = start(prepare_start(request, env), env)
name = started.name

class Pausing(Quiet):
    def event(self, seq, event, loop):
        if type(event).__name__ == "AgentStarted":
            pause_loop(name, env)

def go_on(request, watcher, stint=None):
    driven = drive(request, env, watcher, stint=stint)
    loop, papers = driven.loop, driven.papers
    with open(papers.report) as file:
        head = file.read()[:400]
    tell(loop.phase, loop.outcome, loop.grade, driven.exit_code, head, papers.proof)

room = {"min_free": started.min_free, "max_loops": started.max_loops}
go_on(DriveRequest(name=name, **room), Pausing(), started.stint)
tell(*[one.text for one in steer_loop(name, "be kind", env).control.steers])
go_on(prepare_resume(ResumeRequest(loop=name, more=MoreRoom(iterations=2), author="test"), env), Quiet())

record = read_loop(find_loop(name[:8], env, os.getcwd()), env)
tell(report_md(report_of(record, env))[:400], attest(record, env))
bundle = export_bundle(record, env, os.path.join(os.environ["RALPH_STATE_DIR"], "proof.tar"))
# The runner signs after the loop's last fact: who asks in between waits for it.
verifying.SIGNING_SECONDS, proof = 600.0, attest(record, env)
os.rename(proof, proof + ".late")
threading.Timer(1, os.rename, (proof + ".late", proof)).start()
for target in (name, bundle.path):
    checked = verify(VerifyRequest(target=target, cwd=os.getcwd(), yes=True, sandbox="auto", token="0a"), env)
    tell(checked.verified, checked.exit_code, *[(one.name, one.state) for one in checked.checks])
landed = merge(MergeRequest(loop=name), env)
tell(landed.verified, open("work.txt").read())
back = undo(name, env)
tell(back.new == landed.old, open("work.txt").read())
tell(len(find_belongings(name, env).refs) > 0)
drop(name, env)
tell(read_loop(name, env).loop.landing.was_dropped)
tell(*sorted(name for name in sys.modules if name.startswith(("ralph.ui", "click", "rich"))))
"""


@pytest.mark.slow
def test_a_loop_is_started_paused_resumed_reported_attested_verified_and_landed_without_a_screen(tmp_path):
    """All that a person can ask for can be asked for by a program; report and proof come with the driving."""
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
    lines = iter(json.loads(line) for line in done.stdout.splitlines())
    assert next(lines) == ["sh check.sh", True]
    paused = next(lines)
    assert paused[:4] == ["paused", None, None, 1]
    assert "PAUSED" in paused[4]
    assert paused[5] == ""
    assert next(lines) == ["be kind"]
    ended = next(lines)
    assert ended[:4] == ["ended", "verified", "B", 0]
    assert "VERIFIED_DONE" in ended[4]
    assert json.loads(Path(ended[5]).read_text())["payloadType"] == "application/vnd.in-toto+json"
    assert next(lines) == [ended[4], ended[5]]
    for kind in ("loop", "bundle"):
        verified, code, *checks = next(lines)
        assert (kind, verified, code) == (kind, True, 0)
        assert [name for name, state in checks if state == "pass"][:3] == ["signature", "trust", "subject"]
        assert ["check", "pass"] in checks or ["sh", "pass"] in checks, checks
    assert next(lines) == [True, "done\n"]
    assert next(lines) == [True, "nothing yet\n"]
    assert next(lines) == [True]
    assert next(lines) == [True]
    assert next(lines) == []
