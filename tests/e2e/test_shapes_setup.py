"""`setup`: dependencies built once for each lockfile and command, boxed, and shared in wherever a tree is."""

import json

import pytest

pytestmark = pytest.mark.soak

# Says what it built from, what it could see, and fails on a lockfile that asks for the impossible.
BUILD = """set -e
if grep -q impossible package-lock.json || test -e node_modules; then exit 1; fi
mkdir -p node_modules/x
cp package-lock.json node_modules/x/lock
env > node_modules/x/env
ls -a "$HOME" > node_modules/x/home
"""
TEST = """import json, unittest


class LockTest(unittest.TestCase):
    def test_installed(self):
        with open('node_modules/x/lock') as built, open('package-lock.json') as wanted:
            self.assertEqual(json.load(built), json.load(wanted))

    def test_version(self):
        with open('wanted') as file:
            self.assertEqual(file.read().strip(), '2')
"""
CHECK = "python3 -m unittest"
LOCK = "package-lock.json"
NINE = """open('package-lock.json', 'w').write('{"v": 9}')"""
IMPOSSIBLE = """open('package-lock.json', 'w').write('{"impossible": 1}')"""


def project(shape, setup="sh build.sh", lock='{"v": 1}\n', approve=True):
    files = {
        "build.sh": BUILD,
        "test_lock.py": TEST,
        "wanted": "1\n",
        LOCK: lock,
        "package.json": '{"name": "p", "dependencies": {"x": "1"}}\n',
        ".gitignore": "node_modules/\n__pycache__/\n",
        "ralph.toml": f'setup = "{setup}"\n' if setup else "",
    }
    shape.project(shape.top / "proj", files, {})
    # What the user has installed is something else: it must not be seen where setup builds.
    shape.decoy({"node_modules/x/lock": '{"v": "decoy"}\n'})
    if not (setup and approve):
        return
    asked = shape.loop("true", check=CHECK)
    assert (asked.code, "sh build.sh" in asked.err) == (3, True), asked.report()
    word = asked.err.split("ralph approve ")[1].split()[0]
    assert shape.ralph("approve", word).code == 0


def loop(shape, name, *extra, flags=(), code=0):
    agent = shape.mends("wanted", "1", "2", *extra)
    done = shape.loop(agent, "--loop-id", name, *flags, check=CHECK, env={"SECRET_TOKEN": "hush-hush-hush"})
    assert done.code == code, done.report()
    shape.no_process_left(5)
    shape.same_user()
    return done


def built(shape, where="deps"):
    """The lockfiles of the builds in this folder, while no loop is at work."""
    return sorted(shape.state.glob(f"{where}/*/at/node_modules/x/lock"))


@pytest.mark.sample(test=1)
@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_built_once_and_shared(shape, sandbox):
    """Two loops share one build; agent and gates see it, and no credential of the user's is in it."""
    project(shape)
    flags = ("--sandbox", sandbox)
    seen = (
        f"__import__('shutil').copy('node_modules/x/lock', {str(shape.outside)!r})"
        if sandbox == "auto"
        else "0"
    )
    done = loop(shape, "l1-00000001", seen, flags=(*flags, "--allow-write", str(shape.outside)))
    assert done.loop.grade == "B", "only data changed: there is no code that could be broken"
    assert done.loop.proof.baseline["check"].counts.passed == 1  # installed is right from the start
    assert "dependencies are built by: sh build.sh" in done.err
    (lock,) = built(shape)
    inode = lock.stat().st_ino
    if sandbox == "auto":
        assert json.loads((shape.outside / "lock").read_text()) == {"v": 1}
        assert (lock.parent / "home").read_text().split() == [".", ".."]
    env = (lock.parent / "env").read_text()
    assert "hush" not in env
    assert "RALPH" not in env
    assert sorted(path.name for path in lock.parents[2].iterdir()) == ["node_modules"]  # and nothing else
    loop(shape, "l2-00000002", flags=flags)
    assert [path.stat().st_ino for path in built(shape)] == [inode]
    shape.ralph("clean", "--older-than", "0d", "-y")
    assert built(shape) == []


def test_a_changed_lockfile_is_built_in_its_own_place(shape):
    """What an agent's lockfile asks for is built for its loop alone, by the base's script and not by
    the agent's; the baseline's build stays as it was."""
    project(shape)
    done = loop(shape, "l1-00000001", NINE, "open('build.sh', 'w').write('exit 1')")
    assert (
        done.loop.proof.finals["check"].counts.passed == 2
    )  # so {"v": 9} was installed where it was judged …
    assert [json.loads(path.read_text()) for path in built(shape)] == [{"v": 1}]  # … and nowhere else
    assert built(shape, "loops/l1-00000001/deps") == []  # gone with the loop's checkouts


def test_what_cannot_be_built(shape):
    """A lockfile that cannot be built is red with the reason; a base that cannot be built ends as broken."""
    project(shape)
    done = loop(shape, "l1-00000001", IMPOSSIBLE, flags=("--max-iterations", "1"), code=1)
    verdict = done.loop.proof.verdicts["check"]
    assert (verdict.status, "setup failed (sh build.sh): exit code 1" in verdict.summary) == ("error", True)
    assert "could not be judged (setup failed" in done.text

    shape.git("commit", "--quiet", "--allow-empty", "-m", "x")
    (shape.repo / LOCK).write_text('{"impossible": 1}')
    shape.git("add", LOCK)
    shape.git("commit", "--quiet", "-m", "impossible")
    shape.decoy({})
    done = loop(shape, "l2-00000002", code=4)
    assert (done.loop.outcome, done.loop.spend.calls) == ("broken", 0)
    assert "setup failed" in done.loop.reason


def test_a_changed_lockfile_without_setup(shape):
    """The user's folders are shared only while the lockfile is the base's: else nothing can be judged."""
    project(shape, setup="")
    shape.decoy({"node_modules/x/lock": '{"v": 1}\n'})
    assert loop(shape, "l1-00000001").loop.grade == "B"
    done = loop(shape, "l2-00000002", NINE, flags=("--max-iterations", "1"), code=1)
    assert "package-lock.json asks for what is not installed: install it in your checkout" in done.text


def test_killed_while_it_builds(shape):
    """A build that was killed half-way is thrown away and made anew."""
    project(shape)
    words = shape.loop_words(shape.mends("wanted", "1", "2"), "--loop-id", "l1-00000001", check=CHECK)
    shape.dying("ralph.shell.dependencies.built.Deps._keep:call:1", *words)
    assert not list(shape.state.glob("deps/*/made.json"))
    shape.dying("ralph.shell.process.client.start_call:return:1", "resume", "l1-00000001")
    done = shape.ralph("resume", "l1-00000001")
    assert done.code == 0, done.report()
    assert len(built(shape)) == 1
    assert not list(shape.state.glob("deps/*/call"))
    shape.no_process_left(5)
    shape.same_user()
