"""What the scripted agents share: the calc project, its repair, and how to speak to Ralph."""

import json
import os
import re
import shutil
import subprocess
import sys

RIGHT = {"add": "a + b", "mul": "a * b"}
WRONG = {"add": "a - b", "mul": "a + b"}


def right(name):
    """The right body of a function; op7 is one of the many of a larger project."""
    return RIGHT.get(name) or f"a * {name[2:]} + b"


def calc_source(extra=0):
    """calc.py with two bugs, and `extra` more."""
    parts = ['"""Small sums."""\n\n\ndef sub(a, b):\n    return a - b\n']
    parts += [f"\n\ndef {name}(a, b):\n    return {WRONG[name]}\n" for name in RIGHT]
    parts += [f"\n\ndef op{n}(a, b):\n    return a - b\n" for n in range(1, extra + 1)]
    return "".join(parts)


def source_of_tests(extra=0):
    """test_calc.py: for unittest and pytest alike; sub is green, the rest is red."""
    head = "import unittest\n\nimport calc\n\n\nclass CalcTest(unittest.TestCase):\n"
    cases = [("sub", "7, 3", "4"), ("add", "2, 3", "5"), ("mul", "4, 3", "12")]
    cases += [(f"op{n}", "9, 1", str(9 * n + 1)) for n in range(1, extra + 1)]
    body = "\n".join(
        f"    def test_{name}(self):\n        self.assertEqual(calc.{name}({args}), {value})\n"
        for name, args, value in cases
    )
    return head + body + '\n\nif __name__ == "__main__":\n    unittest.main()\n'


def make_calc(folder, extra=0, **files):
    """The calc project as a git repository with one commit; more files by name with `__` for a dot."""
    os.makedirs(folder, exist_ok=True)
    contents = {
        "calc.py": calc_source(extra),
        "test_calc.py": source_of_tests(extra),
        ".gitignore": "__pycache__/\n",
    }
    contents |= {name.replace("__", "."): text for name, text in files.items()}
    for name, text in contents.items():
        write(os.path.join(folder, name), text)
    git("init", "--quiet", "-b", "main", folder=folder)
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "-m", "calc with bugs", folder=folder)


def git(*words, folder="."):
    """git with an identity of its own, whatever the machine has."""
    identity = [
        "-c",
        "user.name=scripted agent",
        "-c",
        "user.email=agent@example.invalid",
        "-c",
        "commit.gpgsign=false",
    ]
    done = subprocess.run(
        ["git", "-C", folder, *identity, *words], check=True, capture_output=True, text=True
    )
    return done.stdout


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def append(path, text):
    with open(path, "a", encoding="utf-8", newline="") as file:
        file.write(text)


def set_body(source, name, expression):
    """The source in which function `name` returns `expression`."""
    pattern = rf"(def {name}\(a, b\):\n    return )[^\n]*"
    return re.sub(pattern, lambda found: found.group(1) + expression, source)


def broken(source):
    """Names of the functions that are still wrong."""
    found = re.findall(r"def (\w+)\(a, b\):\n    return ([^\n]*)", source)
    return [name for name, body in found if name in {*RIGHT, *op_names(source)} and body != right(name)]


def op_names(source):
    return re.findall(r"def (op\d+)\(", source)


def fix(count=None):
    """Repairs the first `count` broken functions of calc.py, all by default; how many are left."""
    source = read("calc.py")
    names = broken(source)
    for name in names if count is None else names[:count]:
        source = set_body(source, name, right(name))
    write("calc.py", source)
    return len(broken(source))


def number(variable):
    return int(os.environ.get(variable, "1"))


def iteration():
    return number("RALPH_ITERATION")


def call():
    return number("RALPH_CALL")


def argument(position, default):
    return sys.argv[position] if len(sys.argv) > position else default


def say(*words):
    print(*words, flush=True)


def event(kind, /, **fields):
    say(json.dumps({"ralph": 1, "type": kind, **fields}))


def status(word, tests="PASSING", recommendation="see above"):
    """The status block in plain text."""
    say("---RALPH_STATUS---")
    say(f"STATUS: {word}")
    say("TASKS_COMPLETED_THIS_LOOP: 1")
    say("FILES_MODIFIED: 1")
    say(f"TESTS_STATUS: {tests}")
    say("WORK_TYPE: IMPLEMENTATION")
    say(f"EXIT_SIGNAL: {'true' if word == 'COMPLETE' else 'false'}")
    say(f"RECOMMENDATION: {recommendation}")
    say("---END_RALPH_STATUS---")


def done(words="everything is fixed"):
    """Claims that the task is complete."""
    say(words)
    status("COMPLETE", "PASSING", words)


def more(words="work is left"):
    """Says honestly that work is left."""
    say(words)
    status("IN_PROGRESS", "FAILING", words)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.unlink(path)
