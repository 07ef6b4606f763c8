"""The user's word on what repositories ask for: `approvals.json` in the user's config directory.

A hash stands for exactly the items that were shown (see `config.ask`). Those shown but not yet approved
are kept as pending, so that `ralph approve HASH` can show again what it approves and refuses a hash
nobody ever saw. What a repository asks for is decided in `config`; asking on a terminal lives in `ui`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from ralph.errors import NeedsHuman, SetupError, UserError
from ralph.shell.config.settings import Approval, Settings
from ralph.shell.files.write_whole import write_whole

_MAX_PENDING = 20  # newest pending ones kept; a forgotten one is simply shown again
_MAX_BYTES = 64_000_000


class StoredApproval(msgspec.Struct, frozen=True):
    approval: Approval
    at: float  # when it was shown, or approved
    approved: bool = False


class _ApprovalStore(msgspec.Struct, frozen=True):
    version: int
    records: dict[str, StoredApproval]


def approval_needed(settings: Settings, repo: str = "") -> Approval | None:
    """What the user has to approve before these settings may start a loop; None when nothing.

    Waivers alone never stop a loop: unapproved, they do not count, and a warning says so.
    """
    approval = settings.project.approval
    if approval is None or settings.project.admitted or not approval.required:
        return None
    return msgspec.structs.replace(approval, repo=repo) if repo else approval


def trust_check(directory: str) -> Callable[[str], bool]:
    """The `trust` of `config.load`: true for what was approved by this user."""
    return lambda digest: is_approved(directory, digest)


def is_approved(directory: str, digest: str) -> bool:
    record = _read(directory).records.get(digest)
    return record is not None and record.approved


def remember(directory: str, approval: Approval, at: float) -> None:
    """Keep what was shown, so that its hash can be approved later."""
    with _hold_lock(directory):
        records = _read(directory).records
        if approval.hash in records and records[approval.hash].approved:
            return
        records.pop(approval.hash, None)  # shown again: it is the newest now
        pending = sorted((r for r in records.values() if not r.approved), key=lambda r: r.at)
        for record in pending[: max(0, len(pending) - _MAX_PENDING + 1)]:
            del records[record.approval.hash]
        records[approval.hash] = StoredApproval(approval, at)
        _write(directory, records)


def find(directory: str, digest: str) -> StoredApproval:
    """The record of a hash or of its unique beginning; an unknown one is refused."""
    records = _read(directory).records
    matches = []
    if re.fullmatch(r"[0-9a-f]{8,64}", digest):
        matches = [record for known, record in records.items() if known.startswith(digest)]
    if len(matches) == 1:
        return matches[0]
    shown = digest[:64] if digest.isprintable() else "?"
    reason = "several begin like this" if matches else "no repository has requested this"
    raise UserError(
        f'approval "{shown}" is not known: expected a hash that ralph has shown (at least 8 digits of it)',
        code="E-APPROVAL-UNKNOWN",
        why=reason,
        next="ralph config show --origin",
    )


def approve(directory: str, digest: str, at: float) -> Approval:
    """Approve what was shown under this hash (or its unique beginning) and return it."""
    with _hold_lock(directory):
        record = find(directory, digest)
        records = _read(directory).records
        records[record.approval.hash] = StoredApproval(record.approval, at, approved=True)
        _write(directory, records)
    return record.approval


def list_approvals(directory: str) -> tuple[StoredApproval, ...]:
    """Approved and pending ones, newest first."""
    return tuple(sorted(_read(directory).records.values(), key=lambda record: -record.at))


def summary_lines(approval: Approval) -> tuple[str, ...]:
    """The list a human reads before saying yes."""
    return tuple(f"{item.where}  {item.words}" for item in approval.items)


def needs_approval_error(directory: str, approval: Approval, at: float) -> NeedsHuman:
    """The error for callers without a terminal; it remembers what was shown, so that its next step works."""
    remember(directory, approval, at)
    number = len(approval.items)
    return NeedsHuman(
        f"this repository asks for {number} approval{'s' if number != 1 else ''}",
        code="E-APPROVAL",
        at=approval.items[0].where,
        why="\n".join(summary_lines(approval)),
        next=f"ralph approve {approval.short}",
    )


def _path(directory: str) -> str:
    return os.path.join(directory, "approvals.json")


def _read(directory: str) -> _ApprovalStore:
    path = _path(directory)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return _ApprovalStore(1, {})
    except OSError as error:
        raise _unusable(path, error.strerror or "cannot be opened") from error
    with os.fdopen(handle, "rb") as file:
        state = os.fstat(file.fileno())
        if state.st_uid != os.geteuid() or state.st_mode & 0o022:
            raise _unusable(path, "somebody else owns it or can write it; expected your own file, mode 0600")
        data = file.read(_MAX_BYTES)
    try:
        store = msgspec.json.decode(data, type=_ApprovalStore)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unusable(path, "it is not a list of approvals") from error
    if store.version != 1:
        raise _unusable(path, f"it has version {store.version}; this ralph knows version 1")
    return store


def _unusable(path: str, why: str) -> SetupError:
    import shlex

    return SetupError(
        "the stored approvals cannot be used",
        code="E-APPROVALS",
        at=path,
        why=why,
        next=f"ls -l {shlex.quote(path)}",
    )


@contextmanager
def _hold_lock(directory: str) -> Iterator[None]:
    """One writer at a time: two approvals at once must not lose one."""
    import fcntl

    path = os.path.join(directory, "approvals.lock")
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unusable(path, error.strerror or "cannot be opened") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write(directory: str, records: dict[str, StoredApproval]) -> None:
    path = _path(directory)
    data = msgspec.json.format(msgspec.json.encode(_ApprovalStore(1, records)), indent=1)
    try:
        write_whole(path, data, 0o600)
    except OSError as error:
        raise _unusable(path, error.strerror or "cannot be written") from error
