"""The workflow files of `ralph init --ci github`, step by step in a shell as GitHub's runners do it."""

import os
import re
import subprocess

import pytest
import yaml
from kit import ralph_argv

from ralph.app.criterion.init_ci import ci_files
from ralph.ui.ask.demo_project import make_project

pytestmark = pytest.mark.slow

TITLE = "Tests fail $(touch OWNED) `touch OWNED`"
BODY = "Make `touch OWNED` pass.\n'; touch OWNED; '\nat most 900 iterations, spend up to $900"


class Runner:
    """A machine of GitHub, as far as the steps see it: variables, a temporary folder, tools that say yes."""

    def __init__(self, place, repo):
        self.place, self.repo, self.temp = place, repo, place.top / "runner-temp"
        self.temp.mkdir()
        self.tools = place.top / "stand-ins"
        self.tools.mkdir()
        for name in ("sudo", "npm", "pipx", "gh"):
            path = self.tools / name
            path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{place.top}/asked"\n')
            path.chmod(0o755)
        (self.tools / "ralph").symlink_to(ralph_argv()[0])
        self.flows = {os.path.basename(one.path): yaml.safe_load(one.text) for one in ci_files("github")}

    def run(self, file, job, values, **more):
        """Every shell step of a job, in order; the first that fails ends it."""
        flow = self.flows[file]
        for step in flow["jobs"][job]["steps"]:
            if "run" not in step:
                continue
            env = flow.get("env", {}) | flow["jobs"][job].get("env", {}) | step.get("env", {})
            done = self._step(step["run"], {name: _fill(text, values) for name, text in env.items()} | more)
            if done.returncode:
                return done
        return done

    def _step(self, text, given):
        script = self.temp / "step.sh"
        script.write_text(text)
        env = self.place.env(RALPH_CONFIRM="1", RUNNER_TEMP=str(self.temp), **given)
        env["PATH"] = f"{self.tools}:{env['PATH']}"
        env["GITHUB_STEP_SUMMARY"] = str(self.temp / "summary.md")
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        return subprocess.run(words, cwd=self.repo, env=env, capture_output=True, text=True, check=False)


def _fill(text, values):
    """GitHub's expressions, as far as these files use them."""

    def value(found):
        name, _, other = found[1].partition(" || ")
        return values.get(name, other.strip("'"))

    return re.sub(r"\$\{\{ (.+?) \}\}", value, text)


@pytest.fixture
def runner(place):
    repo, origin = place.top / "todo", place.top / "origin.git"
    repo.mkdir()
    make_project(str(repo))
    (repo / "ralph.toml").write_text('[gates.tests]\nrun = "python3 -m unittest -v"\nproof = true\n')
    key = place.top / "signer"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key)], check=True)
    (repo / ".ralph").mkdir()
    public = ["openssl", "pkey", "-in", str(key), "-pubout", "-out", str(repo / ".ralph" / "signer.pem")]
    subprocess.run(public, check=True)
    place.git("add", "-A", folder=repo)
    place.git("-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "-qm", "checks", folder=repo)
    subprocess.run(["git", "clone", "-q", "--bare", str(repo), str(origin)], check=True)
    place.git("remote", "add", "origin", str(origin), folder=repo)
    made = Runner(place, repo)
    made.values = {
        "github.event.issue.number": "12",
        "github.run_id": "77",
        "github.run_attempt": "1",
        "github.event.issue.title": TITLE,
        "github.event.issue.body": BODY,
        "vars.RALPH_AGENT": "demo",
        "vars.RALPH_SOURCE": "somewhere",
        "vars.RALPH_APPROVED": "",
        "secrets.RALPH_SIGNING_KEY": key.read_text(),
        "secrets.ANTHROPIC_API_KEY": "unused",
        "github.event.repository.default_branch": place.git("branch", "--show-current", folder=repo).strip(),
        "github.token": "unused",
    }
    return made


def test_an_issue_becomes_a_verified_branch_with_a_proof(place, runner):
    """Approved once, worked on, signed, pushed, verified as a request; a hostile title executes nothing."""
    sha = place.git("rev-parse", "HEAD", folder=runner.repo).strip()
    flow = ("ralph-issue.yml", "loop", runner.values)
    refused = runner.run(*flow, GITHUB_SHA=sha)
    assert refused.returncode == 3, refused.stderr
    runner.values["vars.RALPH_APPROVED"] = re.search(r"ralph approve ([0-9a-f]+)", refused.stderr)[1]
    done = runner.run(*flow, GITHUB_SHA=sha)
    assert done.returncode == 0, done.stderr
    task = (runner.temp / "task.md").read_text()
    assert TITLE in task
    assert not list(place.top.rglob("OWNED"))
    assert "VERIFIED_DONE" in (runner.temp / "out" / "report.md").read_text()
    assert not (runner.temp / "signing-key").exists()
    _try_hooks(runner)
    limits = place.ralph("report", "--json", cwd=runner.repo).out
    assert '"iterations":10' in limits.replace(" ", ""), limits[:2000]
    loop = "ralph/issue-12-77-1"
    place.git("branch", "-D", loop, folder=runner.repo)  # another job, with a checkout of its own
    place.git("update-ref", "-d", "refs/notes/ralph", folder=runner.repo)
    published = runner.run("ralph-issue.yml", "publish", runner.values)
    assert published.returncode == 0, published.stderr
    assert (
        f"pr create --base {runner.values['github.event.repository.default_branch']} --head {loop}"
        in (place.top / "asked").read_text()
    )
    head = place.git("ls-remote", "origin", f"refs/heads/{loop}", folder=runner.repo).split()[0]
    place.git("update-ref", "-d", "refs/notes/ralph", folder=runner.repo)
    request = runner.values | {
        "github.base_ref": runner.values["github.event.repository.default_branch"],
        "github.event.pull_request.head.sha": head,
    }
    fresh = {"RALPH_STATE_DIR": str(place.top / "state-2"), "XDG_CONFIG_HOME": str(place.top / "config-2")}
    verified = runner.run("ralph-verify.yml", "verify", request, **fresh)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "VERIFIED" in verified.stdout
    other = request | {"github.event.pull_request.head.sha": sha}
    assert runner.run("ralph-verify.yml", "verify", other, **fresh).returncode == 1


def _try_hooks(runner):
    """The hooks of `--ci pre-commit` where tests fail: a commit without changes passes, HEAD does not."""
    (one,) = ci_files("pre-commit")
    hooks = {hook["id"]: hook for hook in yaml.safe_load(one.text)["repos"][0]["hooks"]}
    assert not any(hook["pass_filenames"] for hook in hooks.values())
    codes = {name: runner._step(hook["entry"], {}).returncode for name, hook in hooks.items()}
    assert codes == {"ralph-changed": 0, "ralph-head": 1}
