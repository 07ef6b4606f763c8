"""Levels of protection: each works, each is said, and none is taken silently."""

import shutil

import pytest
from kit import agent, path_without_bubblewrap

pytestmark = pytest.mark.slow


@pytest.mark.soak
def test_sandbox_none(place):
    """--sandbox none works and says what that means."""
    done = place.loop(agent("honest_steps", 2), "--sandbox", "none")
    loop = place.expect(
        done, "verified", 0, 2, says=("sandbox S0", "no sandbox: agents and gates have your own rights")
    )
    assert loop.work.protection == "S0"


def test_without_bubblewrap(place):
    """Where it is required nothing starts; else a loop works at the lower level and says so first. Nothing
    holds an agent then that writes into the user's repository, and only the workspace is judged."""
    env = {"PATH": path_without_bubblewrap(place)}
    refused = place.loop(agent("honest_steps"), "--sandbox", "require", env=env)
    assert (refused.code, "E-SANDBOX" in refused.err, refused.record) == (4, True, None), refused.report()
    assert "bubblewrap is not installed" in refused.err
    place.same_user()
    # In a shell's words: a path that is an argument by itself is given as the workspace's.
    done = place.loop(f"true; {agent('writes_user_repo', place.repo)}", env=env)
    says = "no sandbox: agents and gates have your own rights"
    place.expect(done, "verified", 0, 1, untouched=False, says=says)
    assert "sandbox S0" in done.out
    assert (place.repo / "TRESPASS.txt").read_text() == "# trespass\n"
    assert "trespass" in place.git("branch", "--list")
    assert "TRESPASS.txt" not in place.git("ls-tree", "--name-only", done.loop.landing.branch)
    assert "return a - b" in (place.repo / "calc.py").read_text(), "Ralph itself never writes there"


@pytest.mark.soak
@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
def test_require_with_bubblewrap(place):
    """--sandbox require holds where the box holds: no network for gates, the home is not there."""
    (place.home.parent / "secret").write_text("secret\n")
    look = (
        f"cat {place.home.parent}/secret > seen.txt 2>&1; ls -A $HOME >> seen.txt; {agent('honest_steps', 1)}"
    )
    done = place.loop(look, "--sandbox", "require", "--net", "off")
    loop = place.expect(done, "verified", 0, 1)
    assert loop.work.protection in ("S2", "S3")
    assert "secret\n" not in place.result("seen.txt").replace("secret: ", "")


@pytest.mark.soak
def test_allow_write(place):
    """--allow-write opens one more path to the agent, and no other."""
    shared, other = place.top / "shared", place.top / "closed"
    shared.mkdir()
    other.mkdir()
    tries = f"echo hello > '{shared}/note'; echo hello > '{other}/note'; {agent('honest_steps', 1)}"
    done = place.loop(tries, "--allow-write", str(shared))
    place.expect(done, "verified", 0, 1)
    assert (shared / "note").read_text() == "hello\n"
    if done.loop.work.protection != "S0":
        assert not (other / "note").exists()


RENAMES = """import os, tempfile, unittest


class RenameTest(unittest.TestCase):
    def test_rename(self):
        for tmp in (tempfile.mkdtemp(), "/tmp"):
            with open("made.txt", "w") as file:
                file.write("x")
            os.rename("made.txt", f"{tmp}/made.txt")
            os.rename(f"{tmp}/made.txt", "made.txt")
            os.unlink("made.txt")
        self.assertEqual(os.getcwd(), os.path.realpath(os.getcwd()))
"""


@pytest.mark.soak
def test_a_check_renames_files_between_its_checkout_and_tmp(place):
    """What works on the user's machine works in the box: both are in one file system."""
    place.commit("renames", test_rename__py=RENAMES)
    done = place.loop(agent("honest_steps", 1))
    place.expect(done, "verified", 0, 1)
