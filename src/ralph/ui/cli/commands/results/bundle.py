"""`ralph bundle`: a loop's proof for other people, as a file or as a git note."""

from __future__ import annotations

import json
import os

import click


@click.command(short_help="Export the proof of a verified loop.")
@click.argument("loop", required=False)
@click.option("-o", "--output", metavar="FILE", default="", help="Output file (default: LOOP.ralph.tar).")
@click.option("--note", is_flag=True, help="Write to refs/notes/ralph instead of a file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(loop: str | None, output: str, note: bool, as_json: bool) -> int:
    """Export what others need to verify LOOP: signed statement, public key, evidence and source.

    The evidence is raw output of your checks: look at it before you share it. `--note` writes only the signed
    statement, as a git note on the result's tree and commit; push it with `git push origin refs/notes/ralph`.

    \b
    Examples:
      ralph bundle fix-auth -o proof.tar
      ralph bundle fix-auth --note
    """
    from ralph.app.records import read_loop
    from ralph.app.results.attest import REF, export_bundle, export_notes
    from ralph.app.words.format import plural, safe
    from ralph.core.text.units import size_words
    from ralph.errors import UserError
    from ralph.ui.cli.pick_loop import loop_to_show

    if note and output:
        raise UserError("--note writes no file", code="E-USAGE", next="ralph bundle --help")
    env = dict(os.environ)
    record = read_loop(loop_to_show(loop), env)
    if note:
        objects = export_notes(record, env)
        if as_json:
            print(json.dumps({"v": 1, "loop": record.name, "ref": REF, "objects": objects}))
            return 0
        print(f"noted {record.name} in {REF} on {', '.join(oid[:12] for oid in objects)}")
        print(f"  share it: git push origin {REF}")
        return 0
    done = export_bundle(record, env, output or f"{record.name}.ralph.tar")
    if as_json:
        facts = {"path": done.path, "size": done.size, "members": done.members, "left_out": done.left_out}
        print(json.dumps({"v": 1, "loop": record.name, **facts}))
        return 0
    print(f"wrote {safe(done.path)}: {plural(done.members, 'member')}, {size_words(done.size)}")
    for sentence in done.left_out:
        print(f"  left out: {safe(sentence)}")
    print(f"  check it: ralph verify {safe(os.path.relpath(done.path))}")
    return 0
