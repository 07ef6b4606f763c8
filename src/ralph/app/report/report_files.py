"""Reports on disk: the state directory keeps the newest fifty, a copy may go into the repository.

What a report holds is in `report_data`, how it reads in `markdown`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from ralph.app.place import state_of
from ralph.app.report.loop_report import LoopReport, report_json
from ralph.app.report.markdown import report_md
from ralph.app.report.page import report_page
from ralph.app.report.report_data import make_report
from ralph.app.views.differences import diff_between
from ralph.app.words.change import measure
from ralph.errors import RalphError, SetupError, UserError
from ralph.shell.files.write_whole import write_whole
from ralph.shell.journal.entries import Record
from ralph.shell.state.directory import State

__all__ = [
    "MAX_REPORTS",
    "LoopReport",
    "make_report",
    "report_json",
    "report_md",
    "report_of",
    "write_page",
    "write_reports",
    "write_whole",
]

MAX_REPORTS = 50
_FACES = ("md", "json", "html")


def report_of(record: Record, env: Mapping[str, str]) -> LoopReport:
    """The report of a loop as its record stands now."""
    return make_report(record, state_of(env).blobs, measure(record.loop))


def write_reports(state: State, record: Record) -> tuple[str, str]:
    """Write NAME.md and NAME.json; the two paths. A copy goes where the loop's settings asked for one."""
    report = make_report(record, state.blobs, measure(record.loop))
    faces = {"md": report_md(report).encode(), "json": report_json(report)}
    paths = _write_all(state.reports, record.name, faces)
    _prune(state.reports)
    order = record.loop.sealed
    if order.people.report_copy_to:
        _write_all(_inside(order.repo, order.people.report_copy_to), record.name, faces)
    return paths["md"], paths["json"]


def write_page(record: Record, env: Mapping[str, str], path: str | None = None) -> str:
    """Write the HTML page to `path`, else beside the other reports; where it is now."""

    def diff(before: str, after: str) -> str:
        try:
            return diff_between(record, before, after)
        except RalphError as gone:
            return f"({gone.what})"

    page = report_page(record, report_of(record, env), diff).encode()
    if path is None:
        return _write_all(state_of(env).reports, record.name, {"html": page})["html"]
    write_whole(path, page)
    return os.path.abspath(path)


def _inside(repo: str, folder: str) -> str:
    """The folder, if it is one of the repository: a config must not make us write elsewhere."""
    top = os.path.realpath(repo)
    place = os.path.realpath(os.path.join(top, folder))
    if place != top and not place.startswith(top + os.sep):
        raise UserError(
            f"'report.copy_to' is '{folder}', expected a folder inside the repository",
            code="E-REPORT-COPY",
            at=top,
            next="ralph config show --origin",
        )
    return place


def _write_all(folder: str, name: str, faces: dict[str, bytes]) -> dict[str, str]:
    paths = {}
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for kind, data in faces.items():
            paths[kind] = os.path.join(folder, f"{name}.{kind}")
            write_whole(paths[kind], data)
    except OSError as exc:
        raise SetupError(
            f"cannot write a report to '{folder}': {exc.strerror}",
            code="E-REPORT-WRITE",
            next=f"ralph report {name}",
        ) from exc
    return paths


def _prune(folder: str) -> None:
    """Keep the newest; the faces of one report go together."""
    newest: dict[str, int] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            stem, _, kind = entry.name.rpartition(".")
            if kind in _FACES:
                newest[stem] = max(newest.get(stem, 0), entry.stat(follow_symlinks=False).st_mtime_ns)
    for stem in sorted(newest, key=lambda name: -newest[name])[MAX_REPORTS:]:
        for kind in _FACES:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, f"{stem}.{kind}"))
