"""A backlog's file and its stream in the journal, kept in step: one row, then the file, under one lock.

Every row names the file before and after it by hash. So the next to open it knows what a kill left: the file
of the row before (the row is rendered again) or of the row (nothing is to do); anything else was edited by
hand. Definitions in the file are the user's and win; results are the record's and are rendered again. While
they are in step the file shows the whole state, and the newest row is all that is read of the journal.
"""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.clock import Clock
from ralph.core.backlog.changes import (
    BacklogFact,
    Difference,
    ItemState,
    State,
    changed_state,
    check_fact,
    compare,
    edits_for,
    fold,
    shown_state,
)
from ralph.core.backlog.items import MAX_BYTES, BacklogItem, FeatureList
from ralph.core.backlog.json_text import JsonEdit, Style, apply_edits, edit_element, element_starts, style_of
from ralph.core.backlog.read_list import read_list, reread_item
from ralph.errors import Bug, NeedsHuman, NothingToDo, SetupError, UserError
from ralph.shell.backlog.place import BacklogPlace, file_stamp
from ralph.shell.files.write_whole import write_whole
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.store import JournalRow, JournalStore, backlog_stream
from ralph.shell.state.directory import open_state, state_dir
from ralph.shell.state.locks import Lock, acquire_within

_TIMEOUT_SECONDS = 20.0
_LARGE = frozenset({"adopted", "synced", "added"})
EMPTY = b'{\n  "schema_version": "2.0",\n  "items": []\n}\n'
UNREADABLE = ("parse_failure", "no_items")


class ListFile(Struct, frozen=True):
    """The file as it was read, or written; by its stamp it is known again without reading."""

    data: bytes
    hash: str
    found: FeatureList
    stamp: tuple[int, ...] = ()
    starts: list[int] = []  # of its items, and how it is written: as soon as somebody had to know
    style: Style | None = None

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "surrogatepass")


Memory = dict[str, ListFile]  # of one process that opens the same list many times, by path


class OpenBacklog:
    """The backlog as it is now. Only `change_backlog` gives one that may be changed."""

    def __init__(self, place: BacklogPlace, file: ListFile, memory: Memory) -> None:
        self.place, self.file = place, file
        self.notes: list[Difference] = []
        self._memory = memory
        self._journal: JournalStore | None = None
        self._clock: Clock | None = None
        self._seq = 0

    @property
    def found(self) -> FeatureList:
        return self.file.found

    def item(self, name: str) -> BacklogItem:
        found = self.found.by_id.get(name)
        if found is None:
            from difflib import get_close_matches

            near = get_close_matches(name, list(self.found.by_id), n=1, cutoff=0.6)
            why = f"did you mean '{near[0]}'?" if near else ""
            what = f"there is no item '{name[:60]}'"
            raise UserError(what, code="E-BACKLOG-ITEM-NOT-FOUND", why=why, next="ralph backlog list")
        return found

    def state_of(self, name: str) -> ItemState:
        return shown_state(self.item(name))

    def commit(self, fact: BacklogFact) -> None:
        """Record one fact and render it; refused facts change nothing."""
        if self._journal is None or self._clock is None:
            raise Bug("a backlog that was opened for reading was changed")
        check_fact(fact, self.state_of(fact.item) if fact.item else None)
        made = render_fact(self.file, fact)
        now = self._clock.now()
        fact = replace(fact, at=now, before=self.file.hash, after=made.hash)
        kind = "BacklogItems" if fact.deed in _LARGE else "BacklogFact"
        key, body = backlog_stream(self.place.key), msgspec.json.encode(fact)
        self._seq = self._journal.append(key, self._seq, at=int(now * 1000), kind=kind, v=1, body=body).seq
        self._write(made)

    def _write(self, made: ListFile) -> None:
        if made is not self.file:
            stamp = write_file(self.place.file, made.data, self.file.data)
            self.file = self._memory[self.place.file] = replace(made, stamp=stamp)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def render_fact(file: ListFile, fact: BacklogFact) -> ListFile:
    """The file after a fact. What comes out is read again: a wrong edit must never be written."""
    found = file.found
    changed: State = dict(fact.items) if fact.deed == "synced" else {}
    if fact.item:
        changed[fact.item] = changed_state(shown_state(found.by_id[fact.item]), fact)
    edits: dict[str, list[JsonEdit]] = {}
    for name in found.by_id.keys() & changed.keys():
        edits[name] = edits_for((), shown_state(found.by_id[name]), changed[name])
        edits[name] += [JsonEdit(tuple(key.split("/")), value) for key, value in fact.define.items()]
    if fact.added and not found.at:
        what = "the list is an array without a head"
        raise UserError(what, code="E-BACKLOG-ARRAY", next="ralph backlog validate")
    if not any(edits.values()) and not fact.added:
        return file
    made = _edit_items(file, edits) if edits else file
    if fact.added:
        more = [JsonEdit((found.at,), raw, append=True) for raw in fact.added]
        made = ListFile(apply_edits(file.text, more).encode("utf-8", "surrogatepass"), "", found)
    again = None if fact.define or made.found is found else made.found
    again = again or read_list(made.data)
    wrong = [name for name in edits if not _shows(again, name, changed[name])]
    if wrong or not found.by_id.keys() <= again.by_id.keys():
        raise Bug(f"rendering {fact.deed} would have changed more than was meant: {wrong[:3]}")
    return replace(made, hash=digest(made.data), found=again)


def _edit_items(file: ListFile, edits: dict[str, list[JsonEdit]]) -> ListFile:
    """The file with some items edited; of one alone it is read what it has become."""
    found, data = file.found, file.data
    starts, style = file.starts or element_starts(data, found.at), file.style or style_of(data)
    parts: list[bytes] = []
    end = 0
    for name in sorted(edits, key=found.index.__getitem__):
        number = found.index[name]
        stop = starts[number + 1] if number + 1 < len(starts) else len(data)
        text, old = edit_element(data, starts[number], stop, edits[name], style)
        parts += [data[end : old.start], text.encode("utf-8", "surrogatepass")]
        end = old.end
    made = b"".join((*parts, data[end:]))
    if len(edits) > 1:
        return ListFile(made, "", found, style=style)
    moved = len(made) - len(data)
    starts = [*starts[: number + 1], *(at + moved for at in starts[number + 1 :])]
    return ListFile(made, "", reread_item(found, name, text) or found, starts=starts, style=style)


def _shows(found: FeatureList, name: str, wanted: ItemState) -> bool:
    return name in found.by_id and replace(wanted, loop="") == shown_state(found.by_id[name])


def read_file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            what = f"the backlog has more than {MAX_BYTES >> 20} MB"
            raise UserError(what, code="E-BACKLOG-LARGE", at=path, next=f"ls -l '{path}'")
        if not data.isascii():
            data.decode("utf-8")
        return data
    except FileNotFoundError:
        what, step = "there is no backlog here", "ralph backlog init"
        raise NothingToDo(what, code="E-BACKLOG-NONE", at=path, next=step) from None
    except UnicodeDecodeError as error:
        what, at = "the backlog is not valid UTF-8", f"{path}: byte {error.start}"
        raise UserError(what, code="E-BACKLOG-INVALID", at=at, next="ralph backlog validate") from None
    except OSError as error:
        why = f"the backlog cannot be read: {(error.strerror or '').lower()}"
        raise SetupError(why, code="E-BACKLOG-READ", at=path, next=f"ls -ld '{path}'") from None


def load_file(path: str, memory: Memory) -> ListFile:
    known = memory.get(path)
    try:
        stamp = file_stamp(os.stat(path))
    except OSError:
        stamp = ()
    if known is None or not stamp or known.stamp != stamp:
        data = read_file(path)
        gc.disable()  # ten thousand items make no garbage, only work for its collector, now and later
        try:
            known = memory[path] = ListFile(data, digest(data), read_list(data), stamp)
        finally:
            gc.freeze()
            gc.enable()
    return known


def write_file(path: str, data: bytes, expected: bytes | None) -> tuple[int, ...]:
    """Replace the file as a whole, or leave it: written aside, synced, renamed if it is unchanged."""
    target = os.path.realpath(path)

    def refuse_changed() -> None:
        if expected is not None and os.path.exists(target):
            with open(target, "rb") as file:
                if file.read() != expected:
                    what = "the backlog was edited at the same moment; nothing of it was overwritten"
                    why = "what happened is recorded, and shown in the file by the next command"
                    step = "ralph backlog list"
                    raise NeedsHuman(what, code="E-BACKLOG-MOVED", at=path, why=why, next=step)

    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        write_whole(target, data, before=refuse_changed)
        return file_stamp(os.stat(target))
    except OSError as error:
        what = f"the backlog cannot be written: {(error.strerror or 'unknown error').lower()}"
        why = "what happened is recorded; the file shows it once it can be written"
        step = "ralph backlog list"
        raise SetupError(what, code="E-BACKLOG-WRITE", at=path, why=why, next=step) from error


def facts_of(place: BacklogPlace, env: Mapping[str, str]) -> list[BacklogFact]:
    """All facts, proven by the chain."""
    with read_journal(open_state(state_dir(env), create=False).root) as reader:
        return [_decode(row) for row in reader.rows(backlog_stream(place.key))]


def _decode(row: JournalRow) -> BacklogFact:
    return msgspec.json.decode(row.body, type=BacklogFact)


class _Names(Struct):
    """What a fact tells of which items there are; the rest of it is not decoded."""

    items: dict[str, msgspec.Raw] = {}
    added: tuple[dict[str, msgspec.Raw], ...] = ()


def recorded_names(place: BacklogPlace, env: Mapping[str, str]) -> set[str]:
    """Every item that was ever in this backlog."""
    names: set[str] = set()
    with read_journal(open_state(state_dir(env), create=False).root) as reader:
        for row in reader.rows(backlog_stream(place.key)):
            if row.kind == "BacklogItems":
                fact = msgspec.json.decode(row.body, type=_Names)
                names |= {*fact.items, *(msgspec.json.decode(raw["id"], type=str) for raw in fact.added)}
    return names


def read_backlog(
    place: BacklogPlace, env: Mapping[str, str], clock: Clock, memory: Memory | None = None
) -> OpenBacklog:
    """For looking at. Only where file and record disagree is anything written: they are brought in step."""
    memory = {} if memory is None else memory
    file = load_file(place.file, memory)
    with read_journal(open_state(state_dir(env), create=False).root) as reader:
        row = reader.newest(backlog_stream(place.key))
    if _decode(row).after == file.hash if row is not None else not file.found.items:
        return OpenBacklog(place, file, memory)
    with change_backlog(place, env, clock, memory=memory) as opened:
        return opened


@contextmanager
def change_backlog(
    place: BacklogPlace,
    env: Mapping[str, str],
    clock: Clock,
    *,
    resets: str = "",
    create: bool = False,
    memory: Memory | None = None,
) -> Iterator[OpenBacklog]:
    """For changing, alone. `resets` is an item whose edit by hand the caller will record as a reset."""
    state = open_state(state_dir(env), create=True)
    memory = {} if memory is None else memory
    held = hold(state.root, place, clock, "backlog")
    try:
        if create and not (place.exists and read_file(place.file).strip()):
            write_file(place.file, EMPTY, None)
        file = load_file(place.file, memory)
        if any(one.code in UNREADABLE for one in file.found.problems):
            raise invalid_error(place, file.found)
        with open_journal(state.root) as journal:
            opened = OpenBacklog(place, file, memory)
            opened._journal, opened._clock = journal, clock  # noqa: SLF001 - its maker
            _bring_in_step(opened, journal, resets)
            yield opened
    finally:
        held.release()


def hold(root: str, place: BacklogPlace, clock: Clock, what: str, seconds: float = _TIMEOUT_SECONDS) -> Lock:
    """The kernel's lock on this backlog: for one change, or (`run`) for a worker."""
    return acquire_within(lock_path(root, place, what), what, clock, seconds)


def lock_path(root: str, place: BacklogPlace, what: str) -> str:
    return os.path.join(root, "backlogs", f"{backlog_stream(place.key).replace(':', '-')}.{what}")


def _bring_in_step(opened: OpenBacklog, journal: JournalStore, resets: str) -> None:
    row = journal.newest(backlog_stream(opened.place.key))
    if row is None:
        if opened.found.items:
            opened.commit(BacklogFact(deed="adopted", items=compare(opened.found, {})[1]))
        return
    opened._seq, last, now = row.seq, _decode(row), opened.file.hash  # noqa: SLF001
    if last.before == now != last.after:  # killed between the row and the file
        opened._write(render_fact(opened.file, last))  # noqa: SLF001
    elif last.after != now:
        _sync(opened, journal, resets)


def _sync(opened: OpenBacklog, journal: JournalStore, resets: str) -> None:
    """The file was edited by hand since: definitions are taken, results are rendered again, all is named."""
    state = fold(_decode(row) for row in journal.rows(backlog_stream(opened.place.key)))
    differences, taken = compare(opened.found, state)
    asked = [one for one in differences if one.reset and one.item != resets]
    if asked:
        what = f"item '{asked[0].item}' was set back in the file by hand"
        why = f"{asked[0].words}; a reset is recorded with its reason"
        step = f'ralph backlog reset {asked[0].item} --reason "begin again"'
        raise NeedsHuman(what, code="E-BACKLOG-RESET", at=opened.place.file, why=why, next=step)
    opened.notes = differences
    opened.commit(BacklogFact(deed="synced", items=taken))


def invalid_error(place: BacklogPlace, found: FeatureList) -> UserError:
    lines = [f"{one.pointer or '/'}: {one.message}" for one in found.critical]
    more = f"\nand {len(lines) - 20} more" if len(lines) > 20 else ""
    what = f"the backlog has {len(lines)} error{'s' if len(lines) != 1 else ''}"
    why = "\n".join(lines[:20]) + more
    return UserError(what, code="E-BACKLOG-INVALID", at=place.file, why=why, next="ralph backlog validate")
