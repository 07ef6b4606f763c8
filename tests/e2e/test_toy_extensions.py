"""How many files a new agent, reader, guard, toolchain or command touches: one, added to a copy of Ralph."""

import os
import shutil
from pathlib import Path

import kit
import pytest

import ralph

pytestmark = pytest.mark.slow
COMMAND = '''
"""`ralph toy`: a command of one file."""

import click


@click.command(short_help="Play with a toy.")
@click.argument("word")
def command(word: str) -> int:
    """Play with WORD."""
    print(f"the toy says {word}")
    return 0
'''
AGENT = '''
"""An adapter of one file: it starts a program of the user's with the prompt on stdin."""

from ralph.agents import Launch, Probe
from ralph.agents._kit.environ import ORDINARY, agent_environ
from ralph.agents._kit.jsonlines import JsonLinesParser


def probe(environ):
    return Probe(installed=True, version="1", path=environ["TOY_AGENT"], login="yes")


def launch(order, call):
    program = call.environ["TOY_AGENT"]
    folder = program.rpartition("/")[0]
    return Launch(argv=(program,), env=agent_environ(call, ORDINARY), tools=(program,), reads=(folder,))


def stream(order, session=None):
    return JsonLinesParser()
'''
GUARD = '''
"""Guard "toy": the word "toy" is not part of the result."""

from ralph.core.model.verdict import Finding
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.texts import pairs

NAME = "toy"
KINDS = guard_kinds(NAME, "put the toy away", {"left": ("not yet", "a toy was left in the tree")})


def check(facts):
    toys = [one.path for one in pairs(facts) if "toy" in one.new]
    found = [Finding(f"toy.left:{path}", "a toy lies here", path=path) for path in toys]
    return guard_result(NAME, facts, found, good="no toy", bad="toys are in the tree")
'''
READER = '''
"""Reader "toy": lines "NAME is good" or "NAME is bad" in the report."""

from ralph.gates.readers._kit.observation import lost_report, report_problem, stopped_early
from ralph.gates.readers._kit.test_log import TestLog


def read(obs, gate):
    problem = report_problem(obs)
    if early := stopped_early(obs, gate):
        return early
    if problem:
        return lost_report(obs, problem)
    log = TestLog(obs, gate)
    for name, _, word in (line.partition(" is ") for line in obs.report.decode().splitlines()):
        log.add(name, "pass" if word == "good" else "fail", "it is bad")
    return log.settle()
'''
TOOLCHAIN = """
named = [{says = "Toylang", endings = [".toy"], check = "toytest"}]

[[package]]
name = "toylang"
marks = ["toy.json"]
tests = '_test[.]toy$'

[tool.toytest]
kind = "test"
install = "toyget toytest"
checks = [{kind = "test", run = "toytest", signs = "file:toy.json"}]
named = [{says = "toytest"}]

[[tool.toytest.runner]]
reader = "junit"
report = ["--xml={report}"]
"""
# A test runner: each line of a file `NAME_test.toy` is a test, which passes when it holds "good".
TOYTEST = """#!/usr/bin/env python3
import glob, sys
report = next((word[6:] for word in sys.argv if word.startswith("--xml=")), "/dev/null")
tests = [(path, line) for path in sorted(glob.glob("*_test.toy")) for line in open(path).read().splitlines()]
bad = [line for _, line in tests if "good" not in line]
cases = "".join(
    f'<testcase classname="{path}" name="{line.split()[0]}">'
    + ("" if "good" in line else '<failure message="bad"/>')
    + "</testcase>"
    for path, line in tests
)
open(report, "w").write(f'<testsuite tests="{len(tests)}" failures="{len(bad)}">{cases}</testsuite>')
sys.exit(1 if bad else 0)
"""
MENDER = """#!/bin/sh
cat > /dev/null
sed -i s/bad/good/ a_test.toy
"""


@pytest.fixture
def extended(tmp_path):
    """A copy of Ralph with one file more, and the environment in which it is what `ralph` runs."""
    package = tmp_path / "copy" / "ralph"
    shutil.copytree(Path(ralph.__file__).parent, package)  # with its byte code, which is as old

    def add(name, text):
        assert not (package / name).exists(), "an extension changes no file that is there"
        (package / name).write_text(text.lstrip("\n"))
        return {"PYTHONPATH": os.fspath(package.parent)}

    return add


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return os.fspath(path)


def test_a_command_is_one_file(extended, place):
    """It answers, is in the help, and is what a mistyped word may have meant."""
    env = extended("ui/cli/commands/machine/toy.py", COMMAND)
    assert place.ralph("toy", "hello", env=env).out == "the toy says hello\n"
    assert "  toy\n" in place.ralph("--help", env=env).out
    assert "- **toy**: Play with a toy." in place.ralph("help", "commands", env=env).out
    assert "did you mean 'toy'?" in place.ralph("toyy", env=env).err


def test_an_agent_is_one_file(extended, place):
    """It is listed, chosen by its name, and works on a loop until that is verified."""
    env = extended("agents/toy.py", AGENT) | {"TOY_AGENT": str(kit.SCRIPTED / "honest_steps.py")}
    assert "toy" in place.ralph("agents", "list", env=env).out
    done = place.ralph(
        *("loop", kit.TASK, "--check", kit.CHECK, "--agent", "toy", "--confirm", "1", "--display", "plain"),
        env=env,
    )
    loop = done.loop
    assert (loop.outcome, loop.agents.programs[0].agent if loop.agents.programs else "") != ("", ""), (
        done.text
    )
    assert loop.outcome == "verified", done.report()


def test_a_guard_is_one_file(extended, place):
    """What it finds keeps a result from being verified, and the agent is told the way out."""
    env = extended("gates/guards/hygiene/toy.py", GUARD)
    fixed = f"cat > /dev/null\ncat > calc.py <<'END'\n{kit.fixed_calc()}\nEND\n"
    agent = write_program(place.top / "agent" / "toys.sh", f"#!/bin/sh\n{fixed}echo toy > toy.txt\n")
    done = place.loop(agent, "--confirm", "1", "--max-iterations", "2", env=env)
    assert done.loop.outcome != "verified", done.report()
    assert "toy.left" in place.ralph("logs", "--json", env=env).out + done.text, done.report()


def test_a_reader_is_one_file(extended, place):
    """A gate that says `read = "toy"` is judged test by test."""
    env = extended("gates/readers/tests/toy_text.py", READER)
    gate = '[gates.toys]\nrun = "cp toys {report}"\nread = "toy"\n'
    place.commit("toys", toys="car is good\nball is bad\n", ralph__toml=gate)
    asked = place.ralph("gates", "run", "--base", env=env)
    digest = asked.err.rsplit("ralph approve ", 1)[1].split()[0].strip("`")
    assert place.ralph("approve", digest, env=env).code == 0
    done = place.ralph("gates", "run", "--base", env=env)
    assert "1 failed, 1 passed" in done.text, done.text
    assert "it is bad" in done.text


def test_a_toolchain_is_one_file(extended, place):
    """Its package is seen, its command proposed, recognised and read test by test, its result verified."""
    env = extended("core/toolchains/toylang.toml", TOOLCHAIN)
    write_program(place.top / "bin" / "toytest", TOYTEST)
    env["PATH"] = kit.search_path(str(place.top / "bin"))
    place.git("-c", "core.hooksPath=/dev/null", "rm", "-rqf", "--cached", ".")
    place.commit("toys", toy__json="{}\n", a_test__toy="car is good\nball is bad\n")
    found = place.ralph("infer", "make the Toylang tests pass", env=env)
    assert "toytest" in found.out, found.text
    done = place.loop(
        write_program(place.top / "agent" / "mend.sh", MENDER), "--confirm", "1", check="toytest", env=env
    )
    assert done.loop.outcome == "verified", done.report()
    assert "2 passed" in done.text, "a runner of a known format is read test by test"
    missing = place.ralph("infer", "make toytest pass", env=env | {"PATH": kit.search_path()})
    assert "toyget toytest" in missing.text, missing.text
