"""`ralph diff` on a real repository: the commits that the journal names, nothing written, nothing run."""

import os
import subprocess

import pytest
from making import Maker, order, record_all

from ralph.core.model import events as e


@pytest.fixture
def repo(tmp_path):
    """A repository with three commits and their ids; its config would run programs if anybody let it."""
    path = tmp_path / "app"
    path.mkdir()

    def git(*args):
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
        identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        done = subprocess.run(
            ["git", *identity, *args], cwd=path, env=env, capture_output=True, check=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    commits = []
    for text in ("one\n", "two\n", "\x1b[2Jthree\n"):
        (path / "file.txt").write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", text.strip())
        commits.append(git("rev-parse", "HEAD"))
    git("config", "diff.external", f"touch {tmp_path}/ran")
    git("config", "core.pager", f"touch {tmp_path}/ran")
    return path, commits


def loop(repo):
    """One iteration that made the second commit, one that made the third."""
    path, (base, second, third) = repo
    maker = Maker(order("diff-me-00000001", repo=str(path), base_commit=base)).begin()
    for number, commit in ((1, second), (2, third)):
        maker.add(e.AgentStarted(iteration=number, call=number, agent="command", prompt=""))
        maker.add(e.AgentEnded(iteration=number, call=number))
        maker.add(
            e.CheckpointMade(iteration=number, tree=str(number) * 40, commit=commit, files=1, total_lines=2)
        )
        maker.gates("fast", "fail", "pass")
    return maker


def test_diff(ralph, repo, tmp_path):
    """The newest checkpoint against the base, or another; cleaned, and no configured program runs."""
    record_all(tmp_path / "state", loop(repo))
    code, out, _ = ralph("diff", "diff-me")
    assert code == 0
    assert out.startswith("diff --git a/file.txt b/file.txt\n")
    assert "-one\n+three\n" in out
    assert "\x1b" not in out
    assert "-one\n+two\n" in ralph("diff", "diff-me", "--iteration", 1)[1]
    assert "file.txt | 2 +-" in ralph("diff", "diff-me", "--stat")[1]
    assert not (tmp_path / "ran").exists()


def test_diff_in_colour(ralph, repo, tmp_path, monkeypatch):
    """Colour comes only where it is wanted."""
    record_all(tmp_path / "state", loop(repo))
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[32m+three\x1b[0m" in ralph("diff", "diff-me")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in ralph("diff", "diff-me")[1]


def test_diff_of_nothing(ralph, repo, tmp_path):
    """A loop that changed nothing exits 6; an unknown checkpoint and a lost commit exit 2 and say so."""
    path, (base, *_) = repo
    gone = Maker(order("gone-00000003", repo=str(path), base_commit=base)).begin().failing()
    record_all(
        tmp_path / "state", Maker(order("none-00000002", repo=str(path), base_commit=base)).begin(), gone
    )
    assert ralph("diff", "none")[0] == 6
    code, _, err = ralph("diff", "gone", "--iteration", 7)
    assert (code, "has no checkpoint 7" in err, "expected one of: 1" in err) == (2, True, True)
    code, _, err = ralph("diff", "gone")
    assert (code, "E-COMMIT-GONE" in err) == (2, True)


def test_headline_measures_the_change(ralph, repo, tmp_path):
    """With the repository at hand the report names files and lines."""
    record_all(tmp_path / "state", loop(repo))
    assert "+1 \N{MINUS SIGN}1 in 1 file" in ralph("report", "diff-me")[1]
