"""Is the model's provider within reach? A connection is opened and closed, nothing is sent.

Looked at from a thread, because a name that cannot be resolved may block for half a minute, and a person
pressing Ctrl-C must not wait for that. What the answer means for a loop is the core's (`outage`).
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from urllib.parse import urlsplit

from ralph.clock import Clock
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.shell.ports import Activity, Attention

TIMEOUT_SECONDS = 3.0  # seconds for one connection
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, GROWTH = 0.5, 15.0, 1.5  # seconds between two looks
POLL_SECONDS = 0.2
PORTS = {"http": 80, "https": 443}


def address(url: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """`host:port` of a provider's URL, and "" if it can be looked at; else why not."""
    if not url:
        return "", ""
    try:
        parts = urlsplit(url if "//" in url else f"https://{url}")
        host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        return "", "its address cannot be read"
    if not host or not port:
        return "", "its address cannot be read"
    proxy = _proxy(parts.scheme, host, environ)
    if proxy:
        return "", f"{proxy} puts a proxy between"
    return (f"[{host}]:{port}" if ":" in host else f"{host}:{port}"), ""


def _proxy(scheme: str, host: str, environ: Mapping[str, str]) -> str:
    """The variable that sends this host's traffic elsewhere; "" = none does."""
    spared = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    for entry in (part.strip().lstrip(".").lower() for part in spared.split(",")):
        if entry == "*" or (entry and (host == entry or host.endswith("." + entry))):
            return ""
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    return next((name for name in names if environ.get(name)), "")


def accepts_connection(place: str, patience: float = TIMEOUT_SECONDS) -> bool:
    """Does somebody accept a connection there?"""
    host, _, port = place.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=patience).close()
    except (OSError, ValueError):  # UnicodeError is one, for names that are none
        return False
    return True


class Prober:
    """Looks again and again, at growing distances, until it is closed."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.answer: bool | None = None  # None: the first look is not over
        self._over = threading.Event()
        threading.Thread(target=self._look, name="prober", daemon=True).start()

    def _look(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while not self._over.is_set():
            self.answer = accepts_connection(self.place)
            self._over.wait(pause)
            pause = min(MAX_PAUSE_SECONDS, pause * GROWTH)

    def close(self) -> None:
        self._over.set()


def wait_until_reachable(action: actions.Wait, clock: Clock, attend: Attention) -> e.WaitOver | None:
    """While the address does not answer: until it does, at most `most`. If it answers: the usual wait."""
    prober = Prober(action.probe)
    began, down = clock.monotonic(), False
    try:
        while True:
            waited, answer = clock.monotonic() - began, prober.answer
            down = down or answer is False
            if down and answer:
                return e.WaitOver(note=f"{action.probe} answers again, after {waited:.0f} s")
            left = (action.most if down else action.seconds) - waited
            if left <= 0:
                told = {True: "answers, so the network is there", None: "was looked for in vain"}
                words = "still does not answer" if down else told[answer]
                return e.WaitOver(note=f"{action.probe} {words}; the agent has another try")
            if attend(Activity("wait", (action.why,), waited, left_seconds=None if down else left)):
                return None
            clock.sleep(min(POLL_SECONDS, left))
    finally:
        prober.close()
