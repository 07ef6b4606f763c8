"""`ralph version`: what is installed, for people and for bug reports."""

from __future__ import annotations

import click


@click.command(short_help="Show the version.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print version, Python, platform and libraries as JSON."
)
def command(as_json: bool) -> int:
    """Show the version of Ralph.

    \b
    Example:
      ralph version --json
    """
    from ralph import __version__

    if not as_json:
        print(f"ralph {__version__}")
        return 0
    import json
    import platform
    import sqlite3
    from importlib.metadata import PackageNotFoundError, version

    libraries = {}
    for name in ("click", "jinja2", "junitparser", "msgspec", "rich", "securesystemslib"):
        try:
            libraries[name] = version(name)
        except PackageNotFoundError:
            libraries[name] = "unknown"
    told = {
        "ralph": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "sqlite": sqlite3.sqlite_version,
        "libraries": libraries,
    }
    print(json.dumps(told))
    return 0
