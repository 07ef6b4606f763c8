"""The scripted model server: its record, its script, its manners as a process."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from modelkit import SERVER, serving
from wirekit import anthropic, ask, chat, post, said

pytestmark = pytest.mark.slow


def test_requests_are_recorded_with_body_headers_and_order(tmp_path):
    """Tests can assert what a client sent, including the key it used."""
    with serving(tmp_path, {"replies": [{"say": "x"}]}) as model:
        post(model, "/v1/messages", anthropic(), {"X-Api-Key": "sk-dummy"})
        connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=60)
        connection.request("GET", "/v1/models")
        listed = json.loads(connection.getresponse().read())
        connection.close()
        first, second = model.requests()
    assert (first["n"], first["method"], first["protocol"], first["lane"]) == (1, "POST", "anthropic", "main")
    assert first["headers"]["x-api-key"] == "sk-dummy"
    assert first["body"]["messages"][0]["content"][0]["text"] == "do it"
    assert (second["path"], second["lane"]) == ("/v1/models", "other")
    assert "scripted" in {row["id"] for row in listed["data"]}
    assert oct((tmp_path / "requests.jsonl").stat().st_mode & 0o777) == "0o600"


def test_requests_at_the_same_time_each_take_one_reply(tmp_path):
    """No reply is given twice or lost when clients ask in parallel."""
    with serving(tmp_path, {"replies": [{"say": str(number)} for number in range(20)]}) as model:
        texts = []
        threads = [
            threading.Thread(target=lambda: texts.append(said("chat", ask(model, "chat")[2])))
            for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(texts, key=int) == [str(number) for number in range(20)]


def test_only_loopback_is_bound(tmp_path):
    """The server cannot be reached from another machine."""
    with (
        serving(tmp_path, {"replies": [{"say": "x"}]}) as model,
        open("/proc/net/tcp", encoding="ascii") as file,
    ):
        local = [line.split()[1] for line in file.readlines()[1:] if line.split()[3] == "0A"]
    assert [address for address in local if address.endswith(f":{model.port:04X}")] == [
        f"0100007F:{model.port:04X}"
    ]


@pytest.mark.sample(test=2)
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ({"replies": [{"sya": "x"}]}, "unknown word 'sya'"),
        ({"replies": [{"write": {"path": "x"}}]}, "write needs path, text"),
        ({"replies": [{"error": {"code": 3}}]}, "an error has a status"),
        ({"replies": [{}]}, "nothing to do"),
        ({"replies": [], "talks": []}, "either"),
        ({"replies": [{"say": "x", "cut": "later"}]}, "cut is connect"),
        ({"replies": [{"say": "x", "usage": {"inptu": 1}}]}, "usage knows"),
    ],
)
def test_a_wrong_script_is_refused_with_its_place(tmp_path, script, why):
    """A typo in a script must not silently change what a test tests."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script))
    argv = [sys.executable, SERVER, "--script", path]
    made = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert made.returncode == 2
    assert why in made.stderr


def test_a_script_may_be_toml(tmp_path):
    """TOML reads better for hand-written scripts; talks are tables there."""
    path = tmp_path / "script.toml"
    path.write_text('[[talks]]\n[[talks.replies]]\nsay = "from toml"\n')
    process = subprocess.Popen([sys.executable, SERVER, "--script", path], stdout=subprocess.PIPE, text=True)
    try:
        port = int(process.stdout.readline())
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("POST", "/v1/chat/completions", json.dumps(chat()))
            assert said("chat", connection.getresponse().read()) == "from toml"
    finally:
        process.kill()
        process.communicate()


def test_it_ends_with_its_parent_and_after_its_lifetime(tmp_path):
    """Nothing is left behind: neither by a killed test nor by a forgotten server."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [{"say": "x"}]}))
    ready = tmp_path / "ready.json"
    command = f"'{sys.executable}' '{SERVER}' --script '{script}' --ready '{ready}' & echo $!; sleep 60"
    shell = subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, text=True, start_new_session=True)
    pid = int(shell.stdout.readline())
    wait_until(ready.exists)
    os.kill(shell.pid, signal.SIGKILL)
    os.killpg(shell.pid, signal.SIGCONT)
    wait_until(lambda: not alive(pid))
    with contextlib.suppress(ProcessLookupError):
        os.killpg(shell.pid, signal.SIGKILL)
    shell.communicate()
    short = [sys.executable, SERVER, "--script", script, "--ready", tmp_path / "again", "--lifetime", "0.1"]
    assert subprocess.run(short, timeout=60, check=False).returncode == 0


def wait_until(true, seconds=10):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(pid):
    """Whether the process still does anything: one that waits to be reaped does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_request_in_chunks_is_read(tmp_path):
    """Clients may send bodies in chunks."""
    body = json.dumps(chat()).encode()
    with serving(tmp_path, {"replies": [{"say": "read"}]}) as model:
        with contextlib.closing(socket.create_connection(("127.0.0.1", model.port), timeout=60)) as line:
            head = ["POST /v1/chat/completions HTTP/1.1", "Host: x", "Transfer-Encoding: chunked"]
            head += ["Connection: close", "", ""]
            halves = [body[:50], body[50:]]
            chunks = b"".join(f"{len(half):x}\r\n".encode() + half + b"\r\n" for half in halves)
            line.sendall("\r\n".join(head).encode() + chunks + b"0\r\n\r\n")
            data = b""
            while more := line.recv(65536):
                data += more
        [request] = model.requests()
    assert b'"re' in data
    assert request["body"]["messages"][1]["content"] == "do it"
