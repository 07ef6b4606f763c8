"""A backlog's file and its stream in the journal, kept in step: one row, then the file, under one lock.

Every row names the file before and after it by hash. So the next to open it knows what a kill left: the file
of the row before (the row is rendered again) or of the row (nothing is to do); anything else was edited by
hand. Definitions in the file are the user's and win; results are the record's and are rendered again.
"""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec
from msgspec.structs import replace

from ralph.clock import Clock
from ralph.core.backlog.changes import (
    BacklogFact,
    Difference,
    ItemState,
    State,
    apply_fact,
    changed_state,
    check_fact,
    compare,
    edits_for,
    fold,
    shown_state,
)
from ralph.core.backlog.items import MAX_BYTES, BacklogItem, FeatureList
from ralph.core.backlog.json_text import JsonEdit, Path, apply_edits, elements, first_value, members
from ralph.core.backlog.read_list import read_list
from ralph.errors import Bug, Busy, NeedsHuman, NothingToDo, SetupError, UserError
from ralph.shell.backlog.place import BacklogPlace
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.store import JournalRow, JournalStore, backlog_stream
from ralph.shell.state.directory import open_state, state_dir
from ralph.shell.state.locks import Lock, acquire, this_process

_TIMEOUT_SECONDS = 20.0
_POLL_SECONDS = 0.02
_LARGE = frozenset({"adopted", "synced", "added"})
EMPTY = '{\n  "schema_version": "2.0",\n  "items": []\n}\n'
UNREADABLE = ("parse_failure", "no_items")


class OpenBacklog:
    """The backlog as it is now. Only `change_backlog` gives one that may be changed."""

    def __init__(self, place: BacklogPlace, text: str, found: FeatureList) -> None:
        self.place, self.text, self.found = place, text, found
        self.notes: list[Difference] = []
        self._journal: JournalStore | None = None
        self._clock: Clock | None = None
        self._seq = 0
        self._state: State | None = None

    def item(self, name: str) -> BacklogItem:
        found = self.found.by_id.get(name)
        if found is None:
            from difflib import get_close_matches

            near = get_close_matches(name, list(self.found.by_id), n=1, cutoff=0.6)
            raise UserError(
                f"there is no item '{name[:60]}'",
                code="E-BACKLOG-ITEM-NOT-FOUND",
                why=f"did you mean '{near[0]}'?" if near else "",
                next="ralph backlog list",
            )
        return found

    def state_of(self, name: str) -> ItemState:
        if self._state is not None:
            return self._state.get(name, ItemState())
        return shown_state(self.item(name))

    def commit(self, fact: BacklogFact) -> None:
        """Record one fact and render it; refused facts change nothing."""
        if self._journal is None or self._clock is None:
            raise Bug("a backlog that was opened for reading was changed")
        if fact.item and fact.item not in self.found.by_id:
            self.item(fact.item)
        old = self.state_of(fact.item) if fact.item else None
        check_fact(fact, old)
        text = render_fact(self.text, self.found, fact, old)
        now = self._clock.now()
        fact = replace(fact, at=now, before=digest(self.text), after=digest(text))
        kind = "BacklogItems" if fact.deed in _LARGE else "BacklogFact"
        key = backlog_stream(self.place.key)
        body = msgspec.json.encode(fact)
        row = self._journal.append(key, self._seq, at=int(now * 1000), kind=kind, v=1, body=body)
        self._seq = row.seq
        if self._state is not None:
            apply_fact(self._state, fact)
        self._take(text)

    def _take(self, text: str) -> None:
        if text != self.text:
            write_file(self.place.file, text, self.text)
            self.text, self.found = text, read_list(text)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def render_fact(text: str, found: FeatureList, fact: BacklogFact, old: ItemState | None) -> str:
    """The file's text after a fact. What comes out is read again: a wrong edit must never be written."""
    edits: list[JsonEdit] = []
    top: Path = (found.at,) if found.at else ()
    changed: State = dict(fact.items) if fact.deed == "synced" else {}
    if fact.item and old is not None and fact.deed != "edited":
        changed[fact.item] = changed_state(old, fact)
    for name, new in changed.items():
        item = found.by_id.get(name)
        if item is not None:
            edits += edits_for(found, item, shown_state(item), new)
    if fact.deed == "edited":
        at = (*top, found.by_id[fact.item].index)
        edits += [JsonEdit((*at, *key.split("/")), value) for key, value in fact.define.items()]
    if top:
        edits += [JsonEdit(top, raw, append=True) for raw in fact.added]
    elif fact.added:
        raise UserError(
            "the list is an array without a head", code="E-BACKLOG-ARRAY", next="ralph backlog validate"
        )
    if not edits:
        return text
    made = apply_edits(text, edits, _starts(text, found, edits))
    again = read_list(made)
    lost = found.by_id.keys() - again.by_id.keys()
    wrong = [name for name in changed if name in found.by_id and not _shows(again, name, changed[name])]
    if lost or wrong:
        raise Bug(f"rendering {fact.deed} would have changed more than was meant: {[*lost, *wrong][:3]}")
    return made


def _shows(found: FeatureList, name: str, wanted: ItemState) -> bool:
    shown = shown_state(found.by_id[name])
    return replace(wanted, question="", loop="", trusted=True) == shown


def _starts(text: str, found: FeatureList, edits: list[JsonEdit]) -> dict[Path, int]:
    """Where the items begin that are edited: looked up once, for lists with many."""
    wanted = {edit.path[: 2 if found.at else 1] for edit in edits}
    at = members(text, first_value(text))[found.at].start if found.at else first_value(text)
    lead: Path = (found.at,) if found.at else ()
    return {
        (*lead, number): span.start
        for number, span in enumerate(elements(text, at))
        if (*lead, number) in wanted
    }


def read_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise UserError(
                f"the backlog has more than {MAX_BYTES >> 20} MB", code="E-BACKLOG-LARGE", at=path
            )
        return data.decode("utf-8")
    except FileNotFoundError:
        raise NothingToDo(
            "there is no backlog here", code="E-BACKLOG-NONE", at=path, next="ralph backlog init"
        ) from None
    except UnicodeDecodeError as error:
        raise UserError(
            "the backlog is not valid UTF-8", code="E-BACKLOG-INVALID", at=f"{path}: byte {error.start}",
            next="ralph backlog validate",
        ) from None  # fmt: skip
    except OSError as error:
        raise SetupError(
            f"the backlog cannot be read: {(error.strerror or '').lower()}", code="E-BACKLOG-READ", at=path
        ) from None


def write_file(path: str, text: str, expected: str | None) -> None:
    """Replace the file as a whole, or leave it: written aside, synced, renamed if it is unchanged."""
    target = os.path.realpath(path)
    fresh = f"{target}.ralph-{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(fresh, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
            file.flush()
            os.fsync(file.fileno())
        if expected is not None and os.path.exists(target):
            os.chmod(fresh, os.stat(target).st_mode & 0o7777)
            with open(target, "rb") as file:
                if file.read() != expected.encode("utf-8", "surrogatepass"):
                    raise NeedsHuman(
                        "the backlog was edited at the same moment; nothing of it was overwritten",
                        code="E-BACKLOG-MOVED",
                        at=path,
                        why="what happened is recorded, and shown in the file by the next command",
                        next="ralph backlog list",
                    )
        os.replace(fresh, target)
        folder = os.open(os.path.dirname(target), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise SetupError(
            f"the backlog cannot be written: {(error.strerror or 'unknown error').lower()}",
            code="E-BACKLOG-WRITE",
            at=path,
            why="what happened is recorded; the file shows it as soon as it can be written",
            next="ralph backlog list",
        ) from error
    finally:
        if os.path.lexists(fresh):
            os.unlink(fresh)


def facts_of(place: BacklogPlace, env: Mapping[str, str]) -> list[BacklogFact]:
    """All facts, proven by the chain."""
    state = open_state(state_dir(env), create=False)
    with read_journal(state.root) as reader:
        return [_decode(row) for row in reader.rows(backlog_stream(place.key))]


def _decode(row: JournalRow) -> BacklogFact:
    return msgspec.json.decode(row.body, type=BacklogFact)


def read_backlog(place: BacklogPlace, env: Mapping[str, str], clock: Clock) -> OpenBacklog:
    """For looking at. Only where file and record disagree is anything written: they are brought in step."""
    gc.disable()  # a list of ten thousand items makes no garbage, only work for its collector
    try:
        return _read_in_step(place, env, clock)
    finally:
        gc.enable()


def _read_in_step(place: BacklogPlace, env: Mapping[str, str], clock: Clock) -> OpenBacklog:
    text = read_file(place.file)
    root = open_state(state_dir(env), create=False).root
    with read_journal(root) as reader:
        row = reader.newest(backlog_stream(place.key))
    found = read_list(text)
    if _decode(row).after == digest(text) if row is not None else not found.items:
        return OpenBacklog(place, text, found)
    with change_backlog(place, env, clock) as opened:
        return opened


@contextmanager
def change_backlog(
    place: BacklogPlace, env: Mapping[str, str], clock: Clock, *, resets: str = "", create: bool = False
) -> Iterator[OpenBacklog]:
    """For changing, alone. `resets` is an item whose edit by hand the caller will record as a reset."""
    state = open_state(state_dir(env), create=True)
    held = hold(state.root, place, clock, "backlog")
    try:
        if create and not place.exists:
            write_file(place.file, EMPTY, None)
        text = read_file(place.file)
        found = read_list(text)
        if any(one.code in UNREADABLE for one in found.problems):
            raise invalid_error(place, found)
        with open_journal(state.root) as journal:
            opened = OpenBacklog(place, text, found)
            opened._journal, opened._clock = journal, clock  # noqa: SLF001 - its maker
            _bring_in_step(opened, journal, resets)
            yield opened
    finally:
        held.release()


def hold(root: str, place: BacklogPlace, clock: Clock, what: str, seconds: float = _TIMEOUT_SECONDS) -> Lock:
    """The kernel's lock on this backlog: for one change, or (`run`) for a worker."""
    folder = os.path.join(root, "backlogs")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, f"{backlog_stream(place.key).replace(':', '-')}.{what}")
    until = clock.monotonic() + seconds
    while True:
        try:
            return acquire(path, this_process(int(clock.now() * 1000), what))
        except Busy:
            if clock.monotonic() >= until:
                raise
            clock.sleep(_POLL_SECONDS)


def _bring_in_step(opened: OpenBacklog, journal: JournalStore, resets: str) -> None:
    facts = [_decode(row) for row in journal.rows(backlog_stream(opened.place.key))]
    opened._seq, opened._state = len(facts), fold(facts)  # noqa: SLF001
    if not facts:
        if opened.found.items:
            opened.commit(BacklogFact(deed="adopted", items=compare(opened.found, {})[1]))
        return
    last, now = facts[-1], digest(opened.text)
    if last.after == now:
        return
    if last.before == now:  # killed between the row and the file
        before = fold(facts[:-1]).get(last.item, ItemState())
        opened._take(render_fact(opened.text, opened.found, last, before if last.item else None))  # noqa: SLF001
        return
    _sync(opened, resets)


def _sync(opened: OpenBacklog, resets: str) -> None:
    """The file was edited by hand since: definitions are taken, results are rendered again, all is named."""
    state = opened._state or {}  # noqa: SLF001
    differences, unknown = compare(opened.found, state)
    asked = [one for one in differences if one.reset and one.item != resets]
    if asked:
        name = asked[0].item
        raise NeedsHuman(
            f"item '{name}' was set back in the file by hand",
            code="E-BACKLOG-RESET",
            at=opened.place.file,
            why=f"{asked[0].words}; a reset is recorded with its reason",
            next=f'ralph backlog reset {name} --reason "…"',
        )
    opened.notes = differences
    wrong = {one.item: state[one.item] for one in differences if one.item in state}
    opened.commit(BacklogFact(deed="synced", items=unknown | wrong))


def invalid_error(place: BacklogPlace, found: FeatureList) -> UserError:
    lines = [f"{one.pointer or '/'}: {one.message}" for one in found.critical]
    more = f"\nand {len(lines) - 20} more" if len(lines) > 20 else ""
    return UserError(
        f"the backlog has {len(lines)} error{'s' if len(lines) != 1 else ''}",
        code="E-BACKLOG-INVALID",
        at=place.file,
        why="\n".join(lines[:20]) + more,
        next="ralph backlog validate",
    )
