"""Ralph's own environment is left out of PATH, unless it is the project's own."""

import os
import site
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"
SHOW = "import os, sys; from ralph.ui.cli.main import main; main(['version']); print(os.environ['PATH'])"


@pytest.fixture
def environment(tmp_path):
    """A project with a real virtual environment of its own, in which Ralph is installed."""
    repo = tmp_path / "project"
    (repo / ".git").mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", repo / ".venv"], check=True)
    [packages] = (repo / ".venv").glob("lib/python*/site-packages")
    paths = [str(SOURCE), *site.getsitepackages()]
    (packages / "ralph.pth").write_text("".join(f"{path}\n" for path in paths))
    return repo


def path_in(folder, python, *path):
    env = {"PATH": os.pathsep.join(map(str, path)), "HOME": str(folder)}
    argv = [str(python), "-c", SHOW]
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split(os.pathsep)


def test_a_projects_own_environment_is_the_projects(environment, tmp_path):
    """Ralph as a dependency of a project uses its tools; for every other project they are foreign."""
    own, python = environment / ".venv" / "bin", environment / ".venv" / "bin" / "python"
    linked = tmp_path / "linked"
    linked.symlink_to(own)
    for folder in (environment, environment / ".venv"):
        assert path_in(folder, python, own, "/usr/bin") == [str(own), "/usr/bin"]
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    assert path_in(other, python, own, "/usr/bin", linked) == ["/usr/bin"]
    nested = environment / "vendor"
    (nested / ".git").mkdir(parents=True)
    assert path_in(nested, python, own, "/usr/bin") == ["/usr/bin"]
    assert path_in(tmp_path, python, own, "/usr/bin") == ["/usr/bin"]


def test_an_interpreter_without_an_environment_is_the_systems(tmp_path):
    """Ralph installed into a system or version manager's Python: its folder is on PATH for everybody."""
    python = os.path.realpath(sys.executable)
    env = {"PATH": f"{os.path.dirname(python)}:/usr/bin", "HOME": str(tmp_path)}
    env["PYTHONPATH"] = os.pathsep.join([str(SOURCE), *site.getsitepackages()])
    done = subprocess.run(
        [python, "-c", SHOW], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == env["PATH"]
