"""Looking whether a provider is within reach: what can be looked at, and how a wait ends by it."""

import socket
import threading
import time

import pytest

from ralph.clock import SystemClock
from ralph.core.model import actions
from ralph.shell.agent_call import reach


@pytest.mark.parametrize(
    ("url", "environ", "found"),
    [
        ("https://api.example.com/v1", {}, "api.example.com:443"),
        ("http://127.0.0.1:8080", {}, "127.0.0.1:8080"),
        ("http://user:secret@host.example", {}, "host.example:80"),
        ("http://[::1]:11434/api", {}, "[::1]:11434"),
        ("localhost:11434", {}, "localhost:11434"),
        ("https://api.example.com", {"NO_PROXY": "example.com", "HTTPS_PROXY": "p:1"}, "api.example.com:443"),
        ("https://api.example.com", {"no_proxy": "*", "ALL_PROXY": "p:1"}, "api.example.com:443"),
        ("https://api.example.com", {"HTTP_PROXY": "http://p:1"}, "api.example.com:443"),
        ("", {"HTTPS_PROXY": "p:1"}, ""),
    ],
)
def test_what_can_be_looked_at(url, environ, found):
    """Host and port of the provider's URL, never a name or password in it."""
    assert reach.address(url, environ) == (found, "")


@pytest.mark.parametrize(
    ("url", "environ", "why"),
    [
        ("https://api.example.com", {"HTTPS_PROXY": "http://p:1"}, "HTTPS_PROXY puts a proxy between"),
        (
            "https://example.com",
            {"all_proxy": "p:1", "NO_PROXY": "ple.com"},
            "all_proxy puts a proxy between",
        ),
        ("http://h:70000", {}, "its address cannot be read"),
        ("gopher://h", {}, "its address cannot be read"),
        ("https://", {}, "its address cannot be read"),
    ],
)
def test_what_cannot_be_looked_at(url, environ, why):
    """A proxy answers for everybody, so it is not asked; the reason is said."""
    assert reach.address(url, environ) == ("", why)


@pytest.fixture
def listener():
    """A socket that is bound and does not listen yet."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        yield one


def place(listener):
    return f"127.0.0.1:{listener.getsockname()[1]}"


def test_who_answers(listener):
    """An open port answers; a closed one, a name that is none and nonsense do not."""
    assert not reach.accepts_connection(place(listener))
    listener.listen()
    assert reach.accepts_connection(place(listener))
    assert not reach.accepts_connection("nothing.invalid:443", 1.0)
    assert not reach.accepts_connection("." * 300 + ":1")
    assert not reach.accepts_connection("x")


def test_goes_on_as_soon_as_it_answers(listener):
    """A wait of an hour is over when the address answers again, and says so."""
    ticks = []

    def attend(activity):
        ticks.append(activity)
        if activity.left_seconds is None and len(ticks) < 10_000:
            listener.listen()  # it was seen to be down
        return False

    action = actions.Wait(3600.0, None, "why", probe=place(listener), most=3600.0)
    over = reach.wait_until_reachable(action, SystemClock(), attend)
    assert over is not None
    assert f"{place(listener)} answers again" in over.note
    assert ticks[-1].names == ("why",)


class Stepped:
    """A clock that stands until it is told to go."""

    def __init__(self):
        self.time, self.goes = 0.0, False

    def now(self):
        return self.time

    monotonic = now

    def sleep(self, seconds):
        time.sleep(0.005)
        self.time += seconds if self.goes else 0.0


def test_an_address_that_answers_changes_no_wait(listener):
    """Where the network is there, the fault was another: the usual wait is kept."""
    listener.listen()
    clock, ticks = Stepped(), []

    def attend(activity):
        ticks.append(activity.left_seconds)
        if len(ticks) == 1:
            listener.accept()[0].close()  # the first look has come
        clock.goes = len(ticks) > 20
        return False

    over = reach.wait_until_reachable(
        actions.Wait(10.0, None, "why", probe=place(listener), most=3600.0), clock, attend
    )
    assert over is not None
    assert "answers, so the network is there" in over.note
    assert clock.time == pytest.approx(10.0)
    assert None not in ticks


def test_the_wait_has_an_end(listener):
    """An address that never answers is not waited for without end: the agent has another try."""
    clock = Stepped()

    def attend(activity):
        clock.goes = activity.left_seconds is None  # it was seen to be down
        return False

    over = reach.wait_until_reachable(
        actions.Wait(3600.0, None, "why", probe=place(listener), most=5.0), clock, attend
    )
    assert over is not None
    assert "still does not answer" in over.note
    assert clock.time == pytest.approx(5.0)


def test_a_stop_is_heard_at_once(listener):
    """Whoever asks to stop does not wait for a connection; the prober's thread ends too."""
    action = actions.Wait(3600.0, None, "why", probe=place(listener), most=3600.0)
    assert reach.wait_until_reachable(action, SystemClock(), lambda _: True) is None
    for thread in threading.enumerate():
        if thread.name == "prober":
            thread.join(30)
            assert not thread.is_alive()
