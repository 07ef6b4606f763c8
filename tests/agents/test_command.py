"""Any executable is an agent: its words become a command line, and only allowed variables reach it."""

import pytest

from ralph.agents import CallContext, adapters, load
from ralph.agents._kit.environ import enclosing_loop, secret_values
from ralph.agents.command import split_command
from ralph.core.model.agent import SealedAgent
from ralph.core.model.gate import Criterion
from ralph.core.model.order import Order
from ralph.core.model.spend import Limits
from ralph.errors import UserError

USER = {
    "PATH": "/usr/bin",
    "HOME": "/home/someone",
    "LC_ALL": "C.UTF-8",
    "https_proxy": "http://proxy:1",
    "ANTHROPIC_API_KEY": "secret-value-1",
    "OPENAI_BASE_URL": "http://local",
    "AWS_SECRET_ACCESS_KEY": "secret-value-2",
    "SSH_AUTH_SOCK": "/run/agent",
    "GIT_DIR": "/elsewhere",
    "LD_PRELOAD": "/evil.so",
    "RALPH_STATE_DIR": "/state",
    "MY_VAR": "mine",
}


def order(argv=("agent",), **settings):
    return Order(
        loop="x-12345678",
        task="t",
        repo="/repo",
        criterion=Criterion("custom", ()),
        limits=Limits(),
        agent=SealedAgent("command", argv, settings),
    )


def launched(argv=("agent",), prompt="/p/prompt.md", **settings):
    call = CallContext("ralph-x-12345678", 3, 4, "/repo", prompt, USER)
    return load("command").launch(order(argv, **settings), call)


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("./my-agent.sh --flag", ("./my-agent.sh", "--flag")),
        ("agent 'two words' {prompt_file}", ("agent", "two words", "{prompt_file}")),
        ("agent --re 'a|b;c'", ("agent", "--re", "a|b;c")),
        ('agent "a & b" c\\;d', ("agent", "a & b", "c;d")),
        ("agent | tee log", ("/bin/sh", "-c", "agent | tee log")),
        ("KEY=1 agent", ("/bin/sh", "-c", "KEY=1 agent")),
        ("agent --key=1", ("agent", "--key=1")),
        ('agent "$HOME/x"', ("/bin/sh", "-c", 'agent "$HOME/x"')),
        ("~/bin/agent", ("/bin/sh", "-c", "~/bin/agent")),
        ("a && b", ("/bin/sh", "-c", "a && b")),
        ("agent *.md", ("/bin/sh", "-c", "agent *.md")),
    ],
)
def test_split_command(command, argv):
    """Plain words run as they are; shell syntax outside quotes runs in a shell."""
    assert split_command(command) == argv


@pytest.mark.parametrize("command", ["", "  ", "agent 'open"])
def test_unreadable_command_is_refused(command):
    """A command that has no words or an open quote is the user's mistake, said with its code."""
    with pytest.raises(UserError) as caught:
        split_command(command)
    assert caught.value.code == "E-AGENT-CMD"


def test_prompt_on_stdin_by_default():
    """Without a place for the prompt file the prompt comes on stdin; it never is an argument."""
    launch = launched(("agent", "--flag"))
    assert launch.argv == ("agent", "--flag")
    assert launch.stdin == "prompt"
    assert launch.tools == ("agent",)


def test_prompt_as_a_file():
    """Where the prompt file is asked for, its path stands there and stdin is empty."""
    launch = launched(("agent", "--in={prompt_file}"), prompt="/p q/prompt.md")
    assert launch.argv == ("agent", "--in=/p q/prompt.md")
    assert launch.stdin == "none"


def test_prompt_as_a_file_in_a_shell():
    """In a shell command the path is quoted."""
    launch = launched(split_command("agent < {prompt_file} | tee log"), prompt="/p q/it's.md")
    assert launch.argv[2] == "agent < '/p q/it'\"'\"'s.md' | tee log"
    assert launch.stdin == "none"
    assert launch.tools == ("/bin/sh", "agent", "tee", "log")


def test_environment_is_an_allow_list():
    """Ordinary variables and provider keys pass; everything else of the user stays out."""
    env = launched().env
    passed = {"PATH", "HOME", "LC_ALL", "https_proxy", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"}
    assert set(env) & set(USER) == passed
    assert env["RALPH_LOOP_ID"] == "ralph-x-12345678"
    assert (env["RALPH_ITERATION"], env["RALPH_CALL"], env["RALPH_WORKSPACE"]) == ("3", "4", "/repo")
    assert env["RALPH_PROMPT_FILE"] == "/p/prompt.md"


def test_named_variables_pass():
    """Variables named in the agent's settings pass too, by pattern; those of Ralph never do."""
    env = launched(env="MY_VAR\nAWS_*").env
    assert env["MY_VAR"] == "mine"
    assert "AWS_SECRET_ACCESS_KEY" in env
    everything = launched(env="*").env
    assert "SSH_AUTH_SOCK" in everything
    assert "RALPH_STATE_DIR" not in everything


def test_paths_of_the_command_are_readable():
    """A script's folder is readable in the box, but a home or a root folder is never opened for one file."""
    argv = ("python3", "/opt/tools/agent/run.py", "/home/someone/agent.toml", "/agent", "./local.sh")
    launch = launched(argv, write="/home/someone/.cache\n")
    assert launch.reads == ("/opt/tools/agent", "/home/someone/agent.toml", "/agent")
    assert launch.tools == (
        "python3",
        "/opt/tools/agent/run.py",
        "/home/someone/agent.toml",
        "/agent",
        "./local.sh",
    )
    assert launch.writes == ("/home/someone/.cache",)


def test_command_is_needed():
    """The command adapter without a command is a usage error."""
    with pytest.raises(UserError):
        launched(())


def test_marker_tells_a_loop_inside_a_loop():
    """The environment an agent gets carries the marker by which a nested loop is refused."""
    assert enclosing_loop(launched().env) == "ralph-x-12345678"
    assert enclosing_loop(USER) == ""


def test_secret_values():
    """Values of variables named like secrets are known, paths are not taken for one."""
    assert set(secret_values(USER)) == {"secret-value-1", "secret-value-2"}


def test_unknown_agent_is_refused():
    """An unknown agent names the known ones."""
    with pytest.raises(UserError) as caught:
        load("oracle")
    assert caught.value.code == "E-AGENT-UNKNOWN"
    assert "claude, codex, command" in caught.value.why


@pytest.mark.parametrize("name", sorted(adapters()))
def test_every_adapter_has_the_protocol(name):
    """Each registered adapter loads, probes and gives a parser that ends."""
    adapter = load(name)
    own = name in ("command", "demo")
    assert adapter.probe({**USER, "PATH": "/nowhere"}).installed == own
    fault = adapter.stream(order()).finish(0, "exited", 0).fault
    assert (fault is None) == own  # a CLI that ends without a word has not worked
