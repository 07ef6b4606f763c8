"""Messages to people: where they go, how they are signed, and what trouble with them is."""

import json
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ralph.shell.config.settings import NotifySettings
from ralph.shell.git.project import find_project
from ralph.shell.notify import issue
from ralph.shell.notify.send import Message, send, sign

MESSAGE = Message("end", "ralph-l1-00000001/9", 1700000000, "ralph l1", "verified: <all> & green", b'{"v":1}')


@pytest.fixture
def server():
    """A receiver on loopback: what it got, and what it answers."""
    got, answer = [], {"code": 204}

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.path, dict(self.headers), body))
            self.send_response(answer["code"])
            if answer["code"] == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    made = HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}/hook", got, answer
    made.shutdown()
    made.server_close()
    thread.join(5)


@pytest.fixture
def repo(tmp_path):
    made = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", made], check=True)
    git = ["git", "-C", made, "-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "start"], check=True)
    return made


def troubles(env=None, **settings):
    return list(send(MESSAGE, NotifySettings(**settings), env or {}))


def test_a_webhook_is_signed_with_the_secret(server):
    """The receiver can make the signature again from time, body and secret; nobody without the secret can."""
    address, got, _ = server
    env = {"HOOK_SECRET": "s3cret", "http_proxy": "http://127.0.0.1:9"}
    assert troubles(env, webhook=address, secret_from="HOOK_SECRET") == []
    path, headers, body = got[0]
    assert (path, body, headers["X-Ralph-Event"]) == ("/hook", b'{"v":1}', "end")
    assert headers["X-Ralph-Delivery"] == MESSAGE.id
    assert headers["X-Ralph-Signature"] == sign("s3cret", MESSAGE.at, body)
    assert headers["X-Ralph-Signature"] != sign("other", MESSAGE.at, body)
    assert sign("s3cret", MESSAGE.at, body) != sign("s3cret", MESSAGE.at + 1, body)
    assert sign("s3cret", MESSAGE.at, body) != sign("s3cret", MESSAGE.at, body + b" ")


def test_the_secret_can_come_from_a_command(server):
    """As keys of agents do; what the command prints is in no message."""
    address, got, _ = server
    assert troubles({"PATH": "/usr/bin:/bin"}, webhook=address, secret_command="echo s3cret") == []
    assert got[0][1]["X-Ralph-Signature"] == sign("s3cret", MESSAGE.at, b'{"v":1}')
    assert troubles(webhook=address) == []
    assert "X-Ralph-Signature" not in got[1][1]


def test_without_its_secret_nothing_is_sent(server):
    """Asked to sign and not able to: better no message than one that anybody could have written."""
    address, got, _ = server
    told = troubles(webhook=address, secret_from="HOOK_SECRET")
    assert told == ["notification by webhook not sent: the variable HOOK_SECRET holds no key"]
    assert len(troubles(webhook=address, secret_command="false")) == 1
    assert not got


def test_trouble_is_a_sentence(server):
    """A refusal, a redirect, a closed port, an answer that is none: told in words, and never followed."""
    address, got, answer = server
    answer["code"] = 500
    assert troubles(webhook=address) == ["notification by webhook not sent: it answered 500"]
    answer["code"] = 302
    assert troubles(webhook=address) == ["notification by webhook not sent: it answered 302"]
    assert [path for path, _, _ in got] == ["/hook", "/hook"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert "refused" in troubles(webhook=f"http://127.0.0.1:{port}/")[0]
    with socket.socket() as odd:
        odd.bind(("127.0.0.1", 0))
        odd.listen()

        def answer_oddly():
            talk, _ = odd.accept()
            talk.sendall(b"no http at all\r\n\r\n")
            talk.close()

        thread = threading.Thread(target=answer_oddly)
        thread.start()
        assert len(troubles(webhook=f"http://127.0.0.1:{odd.getsockname()[1]}/")) == 1
        thread.join(5)


def test_who_never_answers_is_not_waited_for(monkeypatch):
    """A receiver that takes the connection and stays silent costs the bound and no more."""
    monkeypatch.setattr("ralph.shell.notify.send.TIMEOUT_SECONDS", 0.3)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        began = time.monotonic()
        assert len(troubles(webhook=f"http://127.0.0.1:{mute.getsockname()[1]}/")) == 1
        assert time.monotonic() - began < 20


def test_the_desktop_is_told_by_its_own_program(tmp_path):
    """`notify-send` gets title and text as arguments after `--`, the text without markup of its own."""
    told = troubles({"PATH": str(tmp_path)}, desktop=True)
    assert told == ["notification by desktop not sent: there is no notify-send"]
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/seen\nexit ${{CODE:-0}}\n')
    program.chmod(0o755)
    assert troubles({"PATH": str(tmp_path)}, desktop=True) == []
    words = (tmp_path / "seen").read_text().splitlines()
    assert words == ["--app-name=ralph", "--", "ralph l1", "verified: &lt;all&gt; &amp; green"]
    assert troubles({"PATH": str(tmp_path), "CODE": "3"}, desktop=True) == [
        "notification by desktop not sent: notify-send ended with 3"
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what it is made of
def test_apprise_carries_it_where_it_is_installed(server):
    """The real library sends title and text; an address that it does not know is told of."""
    address, got, _ = server
    port = address.split(":")[2].split("/")[0]
    assert troubles(apprise=f"json://127.0.0.1:{port}/there") == []
    sent = json.loads(got[0][2])
    assert (sent["title"], sent["message"]) == ("ralph l1", MESSAGE.text)
    assert troubles(apprise="nonsense://x") == [
        "notification by apprise not sent: apprise does not know one of the addresses"
    ]


@pytest.mark.parametrize(
    ("text", "remote", "program"),
    [
        ("7", "", "gh"),
        ("7", "git@github.com:o/r.git", "gh"),
        ("7", "https://gitlab.example.org/o/r.git", "glab"),
        ("https://github.com/o/r/issues/7", "https://gitlab.com/o/r", "gh"),
        ("https://git.example.org/o/r/-/issues/7", "", "glab"),
    ],
)
def test_which_program_comments(text, remote, program):
    """By the issue's own address, else by where the repository comes from."""
    assert issue.program_for(text, remote) == program


def test_a_comment_goes_through_stdin_and_its_trouble_is_a_sentence(tmp_path, repo):
    """`gh issue comment N --body-file -` in the repository; what fails is told and nothing more."""
    project = find_project(str(repo))
    env = {"PATH": str(tmp_path)}
    assert "FileNotFoundError" in issue.comment("7", "done", project, env)
    program = tmp_path / "gh"
    program.write_text(f'#!/bin/sh\n{{ pwd; echo "$@"; /bin/cat; }} > {tmp_path}/seen\nexit ${{CODE:-0}}\n')
    program.chmod(0o755)
    assert issue.comment("7", "done\n", project, env) == ""
    assert (tmp_path / "seen").read_text() == f"{project.top}\nissue comment 7 --body-file -\ndone\n"
    assert issue.comment("7", "x", project, {**env, "CODE": "4"}) == "no comment on issue 7: gh ended with 4"


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "7; rm", "http://x/o/r/issues/7", "https://x/y", "#", "--web"]
)
def test_what_is_no_issue_is_refused(text, repo):
    """A number or an https address of an issue; nothing that a program could take for an option."""
    with pytest.raises(Exception, match="expected a number") as refused:
        issue.check_issue(text, find_project(str(repo)), {})
    assert refused.value.exit_code == 2
