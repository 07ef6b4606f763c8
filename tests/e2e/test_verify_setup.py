"""A bundle whose gates need dependencies: they are built by the loop's own command, once that is approved."""

import shutil

import pytest
from shapekit import Shape

pytestmark = pytest.mark.soak

TEST = """import unittest


class T(unittest.TestCase):
    def test_it(self):
        with open('node_modules/x') as built, open('wanted') as wanted:
            self.assertEqual((built.read(), wanted.read()), ('built\\n', '2\\n'))
"""
FILES = {
    "build.sh": "mkdir node_modules && echo built > node_modules/x\n",
    "test_it.py": TEST,
    "wanted": "1\n",
    "package-lock.json": "{}\n",
    "package.json": '{"name": "p", "dependencies": {"x": "1"}}\n',
    ".gitignore": "node_modules/\n__pycache__/\n",
}


@pytest.fixture
def shape(tmp_path, home):
    made = Shape(tmp_path / "w", home, seen=home.parent / "protection.json")
    made.project(made.top / "proj", FILES, {})
    (made.config / "ralph" / "config.toml").write_text('setup = "sh build.sh"\n')
    yield made
    made.kill_all()


def test_dependencies_of_a_bundle_are_built_by_an_approved_command(shape, tmp_path):
    """It is shown with the gates and runs in the throw-away repository; nothing is built in a clone."""
    done = shape.loop(shape.mends("wanted", "1", "2"), check="python3 -m unittest")
    assert done.code == 0, done.report()
    name, tar = done.loop.sealed.loop, str(tmp_path / "proof.tar")
    assert shape.ralph("bundle", name, "-o", tar).code == 0
    here = shape.ralph("verify", name)
    assert here.code == 0, here.report()
    other = {"RALPH_STATE_DIR": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    (tmp_path / "state").mkdir(mode=0o700)
    shutil.copy(shape.state / "protection.json", tmp_path / "state")
    asked = shape.ralph("verify", tar, "--trust", tar, env=other, cwd=tmp_path)
    assert (asked.code, "setup runs sh build.sh (with network)" in asked.out) == (3, True), asked.report()
    word = asked.out.split("ralph approve ")[1].split()[0]
    assert shape.ralph("approve", word, env=other).code == 0
    seen = shape.ralph("verify", tar, "--trust", tar, env=other, cwd=tmp_path)
    assert seen.code == 0, seen.report()
    clone = tmp_path / "clone"
    shape.git("clone", "-q", str(shape.repo), str(clone), folder=tmp_path)
    shape.git("fetch", "-q", "origin", done.loop.landing.branch, folder=clone)
    shutil.rmtree(tmp_path / "state" / "deps")
    words = ("verify", done.loop.landing.result, "--proof", tar, "--trust", tar, "--yes")
    bare = shape.ralph(*words, env=other, cwd=clone)
    assert (bare.code, "✘ check" in bare.out) == (1, True), bare.report()
    assert not (tmp_path / "state" / "deps").exists()
    (clone / "node_modules").mkdir()
    (clone / "node_modules" / "x").write_text("built\n")
    installed = shape.ralph(*words, env=other, cwd=clone)
    assert installed.code == 0, installed.report()
    shape.no_process_left(5)
