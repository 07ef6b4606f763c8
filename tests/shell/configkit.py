"""A repository and a user, with the configuration files a test writes."""

from pathlib import Path

import pytest

from ralph.errors import UserError
from ralph.shell import config


class Place:
    """A repository folder and a user's config folder, with the files a test writes into them."""

    def __init__(self, tmp_path: Path):
        self.top = tmp_path / "repo"
        self.user = tmp_path / "user"
        self.top.mkdir()
        self.user.mkdir()

    def project(self, text: str | bytes, name: str = "ralph.toml") -> None:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def own(self, text: str) -> None:
        (self.user / "config.toml").write_text(text)

    def load(self, flags=None, env=None, trust=lambda _hash: True, cwd=""):
        return config.load(
            cwd=str(self.top / cwd),
            top=str(self.top),
            env=env or {},
            flags=flags or {},
            user_dir=str(self.user),
            trust=trust,
        )

    def refused(self, **given) -> str:
        with pytest.raises(UserError) as caught:
            self.load(**given)
        assert (caught.value.code, caught.value.exit_code) == ("E-CONFIG", 2)
        assert caught.value.next
        return caught.value.why
