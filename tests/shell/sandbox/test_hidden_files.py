"""Which files a hidden check's command names, and what of that is hidden from everybody else."""

import pytest

from ralph.core.prompt.facts import HIDDEN
from ralph.errors import UserError
from ralph.gates.seal import seal
from ralph.shell.sandbox import hidden_files


@pytest.fixture
def world(tmp_path):
    """A repository, and checks with what they compare with, elsewhere."""
    for name in (
        "repo/src/app.py",
        "repo/tests/test_app.py",
        "repo/property.py",
        "home/checks/run.py",
        "home/checks/answers.json",
        "srv/checks/tests/test_x.py",
        "srv/tool/bin/python3",
        "srv/tool/lib/check.py",
        "srv/data/cases.txt",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    return tmp_path


def gate(run, **fields):
    paths = frozenset({"src/app.py", "tests/test_app.py", "property.py"})
    return seal("unseen", run, tree_paths=paths, origin=HIDDEN, **fields)


def concealed(world, run, needed=(), **fields):
    run = run.replace("SRV", f"{world}/srv")
    env = {"HOME": f"{world}/home"}
    needed = tuple(word.replace("SRV", f"{world}/srv") for word in needed)
    found = hidden_files.paths_to_hide([gate(run, **fields)], f"{world}/repo", env, needed)
    return {path.removeprefix(f"{world}/") for path in found}


@pytest.mark.parametrize(
    ("run", "hidden"),
    [
        ("python3 ~/checks/run.py", {"home/checks"}),
        ("python3 $HOME/checks/run.py --all", {"home/checks"}),
        ('sh -c "cd src && python3 ${HOME}/checks/run.py"', {"home/checks"}),
        ("python3 ../home/checks/run.py", {"home/checks"}),
        ("cd src && python3 ../../home/checks/run.py", {"home/checks"}),
        ("SRV/checks/tests/test_x.py", {"srv/checks/tests"}),
        ("env A=1 timeout 60 python3 -B SRV/checks/tests/test_x.py src/app.py", {"srv/checks/tests"}),
        ("pytest -q SRV/checks", {"srv/checks"}),
        ("pytest -q SRV/checks/tests/test_x.py::test_a", {"srv/checks/tests"}),
        ("PYTHONPATH=SRV/checks python3 -m tests.test_x", {"srv/checks"}),
        ("PYTHONPATH=src:SRV/checks pytest -q", {"srv/checks"}),
        ("diff out.txt SRV/data/cases.txt", {"srv/data/cases.txt"}),
        ("./run --cases=SRV/data/cases.txt", {"srv/data/cases.txt"}),
        ("D=SRV/data; python3 ~/checks/run.py < $D/cases.txt", {"home/checks", "srv/data"}),
        ("python3 -c 'exec(open(\"SRV/data/cases.txt\").read())'", {"srv/data/cases.txt"}),
        ("SRV/tool/bin/python3 ~/checks/run.py", {"home/checks"}),
        ("python3 src/app.py /dev/null /etc/hosts /usr/bin/env", set()),
        ("pytest -q", set()),
    ],
)  # fmt: skip
def test_what_is_named_is_hidden(world, run, hidden):
    """However it is named; but neither interpreters nor the work itself nor the system."""
    assert concealed(world, run) == hidden


def test_variables_of_a_configured_gate_count(world):
    """`env` in the gate's table names files as well as its command does."""
    assert concealed(world, "pytest -q", env={"PYTHONPATH": f"{world}/srv/checks"}) == {"srv/checks"}


def test_what_the_agent_needs_stays(world):
    """A check that lies among the files of a tool is hidden alone; a folder around the tool is not hidden."""
    assert concealed(world, "python3 SRV/tool/lib/check.py", ["SRV/tool/lib/agent"]) == {
        "srv/tool/lib/check.py"
    }
    assert concealed(world, "python3 ~/checks/run.py SRV/tool", ["SRV/tool/bin"]) == {"home/checks"}


@pytest.mark.parametrize(
    ("run", "other", "hidden"),
    [
        ("python3 ~/checks/run.py", "python3 ~/checks/answers.json", {"home/checks/run.py"}),
        ("python3 ~/checks/run.py", "cat ~/checks/run.py", {"home/checks"}),
        ("pytest -q SRV/checks", "python3 SRV/checks/tests/test_x.py", {"srv/checks"}),
        ("pytest -q SRV/checks/tests", "pytest -q SRV/checks", {"srv/checks/tests"}),
    ],
)
def test_a_visible_check_beside_a_hidden_one_is_seen(world, run, other, hidden):
    """Its own files stay; what the hidden check names itself stays hidden."""
    run, other = (text.replace("SRV", f"{world}/srv") for text in (run, other))
    seen = seal("seen", other, tree_paths=frozenset())
    env = {"HOME": f"{world}/home"}
    found = hidden_files.paths_to_hide([gate(run)], f"{world}/repo", env, (), [seen])
    assert {path.removeprefix(f"{world}/") for path in found} == hidden


@pytest.mark.parametrize(
    "run",
    ["python3 property.py", "./property.py", "pytest -q tests", "pytest tests/test_app.py::test_x",
     "sh -c 'python3 ./property.py'", "python3 -m unittest tests.test_app", "cd tests; python3 test_app.py"],
)  # fmt: skip
def test_what_stands_in_the_repository_is_refused(world, run):
    """The agent reads it there, or in the history."""
    with pytest.raises(UserError, match="names a file of the repository"):
        hidden_files.unseen(gate(run), f"{world}/repo", frozenset({"property.py", "tests/test_app.py"}))


@pytest.mark.parametrize(
    "run", ["pytest -q", "npm test", "go test ./...", "python3 ~/checks/run.py src/app.py"]
)
def test_the_work_itself_may_be_named(world, run):
    """A hidden check may look at the work."""
    assert hidden_files.unseen(gate(run), f"{world}/repo", frozenset({"src/app.py", "test/x.js"}))
