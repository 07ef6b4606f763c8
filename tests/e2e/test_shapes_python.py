"""Python projects of several shapes: the gates judge the loop's tree and never the user's checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shapekit import PY_BASE, PY_DECOY, py_test, write_all

pytestmark = pytest.mark.soak


def editable(shape, folder):
    """A virtual environment inside the repository with the package installed in editable mode."""
    real = os.path.realpath(sys.executable)
    subprocess.run([real, "-m", "venv", "--without-pip", str(folder / ".venv")], check=True)
    site = next((folder / ".venv" / "lib").glob("python*/site-packages"))
    (site / "__editable__.valued.pth").write_text(f"{folder / 'src'}\n")
    (site / "only_here.py").write_text("WHERE = __file__\n")


def editable_project(shape, folder, run_in=""):
    files = {
        f"{run_in}src/valued/__init__.py": "",
        f"{run_in}src/valued/value.py": PY_BASE,
        f"{run_in}tests/test_value.py": py_test("import only_here\nfrom valued import value"),
        f"{run_in}tests/__init__.py": "",
        f"{run_in}pyproject.toml": '[project]\nname = "valued"\nversion = "1"\n',
        ".gitignore": ".venv/\n__pycache__/\n",
    }
    shape.project(folder, files, {f"{run_in}src/valued/value.py": PY_DECOY})
    editable(shape, folder / run_in if run_in else folder)
    shape.decoy({})


def test_editable_install_in_the_repository(shape):
    """An editable install leads to the judged tree: absolute paths mean it, inside the box."""
    editable_project(shape, shape.top / "proj")
    loop = shape.judged(shape.mends("src/valued/value.py"), ".venv/bin/python -m unittest discover tests")
    assert (loop.grade, loop.sealed.box.share) == ("A", (".venv",))


@pytest.mark.parametrize(
    ("check", "calls"), [("make test", "grep"), (".venv/bin/python value.py", "installed-script")]
)
def test_a_check_uses_what_its_user_has(shape, check, calls):
    """It may commit with git, start an interpreter that stands below the home, and call what is installed."""
    folder = shape.top / "proj"
    recipe = "git init -q made && cd made && git commit -q --allow-empty -m one"
    files = {"Makefile": f"test:\n\t{recipe}\n\t.venv/bin/python value.py\n", "value.py": PY_BASE}
    shape.project(folder, files, {})
    real = Path(shape.env()["HOME"]) / ".pyenv" / "versions" / "9" / "bin" / "python"
    write_all(real.parent, {"python": f"#!/bin/sh\nexec {calls} -q 'return 1' \"$1\"\n"})
    real.chmod(0o755)
    script = folder / ".venv" / "bin" / "installed-script"
    write_all(script.parent, {script.name: '#!/bin/sh\nexec grep "$@"\n'})
    script.chmod(0o755)
    write_all(
        folder / ".venv" / "lib",
        {"frames/pyproject.toml": '[project]\nname = "frames"\ndependencies = ["absent"]\n'},
    )
    (folder / ".venv" / "bin" / "python").symlink_to(real)
    done = shape.loop(shape.mends("value.py"), check=check)
    assert (done.code, done.loop.outcome) == (0, "verified"), done.report()


def test_editable_install_without_a_box(shape):
    """Without a box the user's files cannot be kept out: whatever comes of it, it is never grade A."""
    editable_project(shape, shape.top / "proj")
    check = ".venv/bin/python -m unittest discover tests"
    words = ("--sandbox", "none", "--max-iterations", "2", "--loop-id", "l1-00000001")
    done = shape.loop(shape.mends("src/valued/value.py"), *words, check=check)
    loop = done.loop
    assert loop.grade != "A"
    assert loop.work.protection not in ("S2", "S3")
    if loop.outcome == "verified":
        assert any("which files the checks loaded" in words for words in loop.proof.unproven)
    shape.no_process_left(5)
    shape.same_user()


def test_plain_layout_without_a_box(shape):
    """A project without absolute paths is judged rightly without a box too, and graded lower for it."""
    files = {"value.py": PY_BASE, "test_value.py": py_test(), ".gitignore": "__pycache__/\n"}
    shape.project(shape.top / "proj", files, {"value.py": PY_DECOY})
    loop = shape.judged(shape.mends("value.py"), "python3 -m unittest", "--sandbox", "none")
    assert loop.grade == "B"
    assert any("which files the checks loaded" in words for words in loop.proof.unproven)


def test_monorepo(shape):
    """Called in a sub-folder, Ralph works and judges there; the neighbour's environment is not in the way."""
    editable_project(shape, shape.top / "mono", run_in="packages/app/")
    cwd = shape.repo / "packages" / "app"
    loop = shape.judged(
        shape.mends("src/valued/value.py"), ".venv/bin/python -m unittest discover tests", cwd=cwd
    )
    assert loop.sealed.prefix == "packages/app"
    assert loop.sealed.box.share == ("packages/app/.venv",)
    assert loop.grade == "A"


def test_uv_project(shape):
    """`uv run` finds the project's environment beside the judged tree, without network."""
    tools = shape.top / "uv" / "bin"  # alone: beside ours there are tools that are not the project's
    tools.mkdir(parents=True)
    shutil.copy(os.path.join(sys.prefix, "bin", "uv"), tools)
    editable_project(shape, shape.top / "proj")
    check = "uv run --no-sync --offline python -m unittest discover tests"
    env = {"PATH": f"{tools}{os.pathsep}{shape.env()['PATH']}"}
    loop = shape.judged(shape.mends("src/valued/value.py"), check, env=env)
    assert loop.grade in ("A", "B")


def test_spaces_and_letters(shape):
    """A path with spaces, quotes and non-ASCII letters is a path like any other."""
    editable_project(shape, shape.top / "my project, so “schön” it's 日本")
    (shape.repo / "notes ü.txt").write_text("mine\n")
    shape.decoy({})
    agent = shape.mends("src/valued/value.py", "return 0", "return 1", 'open("neu ß.txt", "w").write("new")')
    loop = shape.judged(agent, ".venv/bin/python -m unittest discover tests")
    assert loop.grade == "A"
    names = shape.git(
        "-c", "core.quotePath=false", "diff", "--name-only", "main", loop.landing.branch
    ).splitlines()
    assert sorted(names) == ["neu ß.txt", "src/valued/value.py"]
