"""Sending one message by each way that the user configured: a webhook, the desktop, Apprise.

Nothing here retries or waits for long: what cannot be sent within seconds is told of in the loop's log. A
message goes where the configuration says and nowhere else, so a redirect is an error.
"""

from __future__ import annotations

import hashlib
import hmac
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from html import escape
from urllib.parse import urlsplit

from msgspec import Struct

from ralph.core.model.agent import Fault, KeySource
from ralph.shell.agent_call.launch import fetch_key
from ralph.shell.config.settings import NotifySettings

TIMEOUT_SECONDS = 5.0
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Message(Struct, frozen=True):
    kind: str  # end, blocked, budget
    id: str  # of the fact that it tells of: whoever gets it twice can know
    at: int  # seconds
    title: str
    text: str
    body: bytes  # JSON


class NotSent(Exception):  # noqa: N818
    """Why a message did not get there, in words that give no secret away."""


def send(message: Message, settings: NotifySettings, env: Mapping[str, str]) -> Iterator[str]:
    """Send it by every way there is; what went wrong, in words."""
    ways = (
        ("webhook", settings.webhook, _send_webhook),
        ("desktop", settings.desktop, _show_on_desktop),
        ("apprise", settings.apprise, _send_by_apprise),
    )
    for name, wanted, way in ways:
        try:
            if wanted:
                way(message, settings, env)
        except NotSent as why:
            yield f"notification by {name} not sent: {why}"


def sign(secret: str, at: int, body: bytes) -> str:
    """The signature that a receiver makes again: over the time too, so that an old message stays old."""
    mac = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256)
    return f"t={at},v1={mac.hexdigest()}"


def _send_webhook(message: Message, settings: NotifySettings, env: Mapping[str, str]) -> None:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

    class Straight(HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    headers = {"Content-Type": "application/json", "User-Agent": "ralph", "X-Ralph-Event": message.kind}
    headers["X-Ralph-Delivery"] = message.id
    if settings.secret_from or settings.secret_command:
        source = KeySource("secret", settings.secret_from, settings.secret_command)
        found = fetch_key(source, env)
        if isinstance(found, Fault):
            raise NotSent(found.message.partition(";")[0])
        headers["X-Ralph-Signature"] = sign(found["secret"], message.at, message.body)
    near = urlsplit(settings.webhook).hostname in LOOPBACK
    opener = build_opener(Straight(), *([ProxyHandler({})] if near else []))
    request = Request(settings.webhook, data=message.body, headers=headers, method="POST")  # noqa: S310 - checked
    try:
        opener.open(request, timeout=TIMEOUT_SECONDS).close()
    except HTTPError as refused:
        raise NotSent(f"it answered {refused.code}") from None
    except URLError as trouble:
        raise NotSent(str(trouble.reason)) from None
    except (OSError, ValueError, HTTPException) as trouble:
        raise NotSent(type(trouble).__name__) from None


def _show_on_desktop(message: Message, _settings: NotifySettings, env: Mapping[str, str]) -> None:
    program = shutil.which("notify-send", path=env.get("PATH"))
    if program is None:
        raise NotSent("there is no notify-send")
    argv = [program, "--app-name=ralph", "--", message.title, escape(message.text, quote=False)]
    try:
        done = subprocess.run(
            argv,
            env=dict(env),
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as trouble:
        raise NotSent(type(trouble).__name__) from None
    if done.returncode:
        raise NotSent(f"notify-send ended with {done.returncode}")


def _send_by_apprise(message: Message, settings: NotifySettings, _env: Mapping[str, str]) -> None:
    try:
        from apprise import Apprise
    except ImportError:
        raise NotSent("apprise is not installed; pip install 'ralphloop[notify]'") from None
    sender = Apprise()
    if not all(sender.add(address) for address in settings.apprise.split()):
        raise NotSent("apprise does not know one of the addresses")
    if not sender.notify(title=message.title, body=message.text):
        raise NotSent("apprise could not deliver it")
