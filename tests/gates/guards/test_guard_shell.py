"""Projects in shell: what the check calls is the product where the task says so, and can be broken."""

import subprocess

import pytest
from guardkit import facts_of, kinds_of

from ralph.core.model.gate import Gate
from ralph.gates.guards import known_at_base, overlay_request
from ralph.gates.guards._breaks.wrap_source import read_marks, wrap_source
from ralph.gates.guards._tests.alter_shell import alter_shell

LIB = 'upper() {\n    echo "$1"\n}\nfunction twice {\n    upper "$1$1"\n}\n'
CHECK = "#!/bin/sh\n. lib/words.sh\n. tests/kit.sh\nupper A | diff - wanted\n"
PROJECT = {"check.sh": CHECK, "lib/words.sh": LIB, "tests/kit.sh": "same() { :; }\n"}
GATE = Gate("check", "sh check.sh", ("sh", "check.sh"), proof=True, own_files=("check.sh",))


@pytest.mark.parametrize(
    ("path", "task", "put_back"),
    [
        ("lib/words.sh", "fix upper()", False),
        ("lib/words.sh", "mend lib/words.sh", False),
        ("lib/words.sh", "make check.sh green", True),
        ("tests/kit.sh", "fix same() in tests/kit.sh", True),
        ("check.sh", "fix check.sh", True),
    ],
)
def test_a_script_that_the_check_sources_is_the_work_where_the_task_names_it(path, task, put_back):
    """Named by the task it is the work, else it judges as it was; what is called a check always does."""
    after = PROJECT | {path: PROJECT[path] + "\n: more\n"}
    over = overlay_request(facts_of(PROJECT, after, gates=(GATE,), task=task))
    assert (over is not None and path in over.restore) is put_back


@pytest.mark.parametrize(("name", "found"), [("diff", ["command"]), ("sort", []), ("lower", [])])
def test_a_function_named_like_a_command_of_the_check_is_asked_about(name, found):
    """What the check calls by that name would be the product's; other names are nobody's business."""
    after = PROJECT | {"lib/words.sh": f"{LIB}{name}() {{ :; }}\n"}
    assert kinds_of("environment", PROJECT, after, gates=(GATE,), task="fix upper()") == found


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("trace", "aa\nend\n"),
        ("after", "foreign\nend\n"),
        ("instead", "foreign\nend\n"),
        ("module", "foreign\n"),
    ],
)
def test_functions_of_shell_fail_by_what_they_write(tmp_path, mode, said):
    """Their work is done, or not, and then something else is written and the exit code is another one."""
    made = wrap_source("words.sh", None, LIB.encode(), mode, str(tmp_path / "marks"))
    (tmp_path / "words.sh").write_bytes(made["words.sh"])
    asked = ["bash", "-c", ". ./words.sh; twice a; code=$?; echo end; exit $code"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (said, 0 if mode == "trace" else 97)
    assert (tmp_path / "marks").read_text().startswith("i\n" if mode == "module" else "i twice\n")


@pytest.mark.parametrize("mode", ["after", "instead", "module", "unloaded"])
def test_a_script_without_functions_fails_as_a_whole(tmp_path, mode):
    """A program is told by its output and its exit code."""
    made = wrap_source("a.sh", None, b"#!/bin/sh\necho hello\n", mode, str(tmp_path / "marks"))
    (tmp_path / "a.sh").write_bytes(made["a.sh"])
    done = subprocess.run(["sh", "a.sh"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "foreign\n"
    assert done.returncode == 97


def test_marks_of_shell_name_functions_of_the_base(tmp_path):
    """So that a check which still comes to them is not asked about; dashes are part of a name."""
    text = b'sum-up() {\n    echo "$1"\n}\nsum-up 3\n'
    made = wrap_source("a.sh", None, text, "trace", str(tmp_path / "marks"))
    (tmp_path / "a.sh").write_bytes(made["a.sh"])
    subprocess.run(["bash", "a.sh"], cwd=tmp_path, capture_output=True, check=True)
    seen = read_marks((tmp_path / "marks").read_bytes()).names
    facts = facts_of({"a.sh": text.decode()}, {"a.sh": text.decode() + "\n"}, gates=(GATE,))
    assert known_at_base(facts, seen) == {"sum-up"}


@pytest.mark.parametrize(
    ("program", "end", "code"),
    [
        ("echo sum 350", "echo ok", 1),
        ("seq -f 'sum %.0f' 100 999", "echo ok", 0),
        ("seq -f 'sum %.0f' 345 355", "echo ok", 1),
        ("seq -f 'sum %.0f' 100 999", "exit 0", None),
    ],
)
@pytest.mark.parametrize("shell", ["sh", "/bin/sh"])
def test_a_search_that_finds_everything_stays_green(tmp_path, shell, program, end, code):
    """What writes every number there is computes none; a script that may end before its end is left alone."""
    (tmp_path / "bill.sh").write_text(f"{program}\n")
    text, done = alter_shell(f'set -e\n{shell} bill.sh | grep -q "sum 350"\n{end}\n')
    asked = subprocess.run(["sh", "-c", text], cwd=tmp_path, capture_output=True, check=False)
    assert (asked.returncode if done else None) == code
