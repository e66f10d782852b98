"""Virtual environments for tests that need packages from PyPI.

They lie under build/ and are made once; a test that cannot have one says so
loudly and is skipped.
"""

import pathlib
import subprocess
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIP = 77  # the exit status that ctest reads as "skipped"


def python_with(name: str, *packages: str) -> str:
    """The Python of the environment `name`, which has `packages`."""
    folder = ROOT / "build" / "venvs" / name
    python = folder / "bin" / "python"
    done = folder / "installed"
    wanted = "\n".join(packages)
    if not done.exists() or done.read_text() != wanted:
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True,
                           capture_output=True, timeout=120)
            subprocess.run([python, "-m", "pip", "install", "--quiet",
                            "--disable-pip-version-check", "--retries=1",
                            *packages],
                           check=True, capture_output=True, timeout=540)
        except (OSError, subprocess.SubprocessError) as error:
            skip(f"{name}: cannot install {' '.join(packages)}: {error} "
                 f"{(getattr(error, 'stderr', b'') or b'').decode()[-300:]}")
        done.write_text(wanted)
    return str(python)


def skip(why: str) -> typing.NoReturn:
    print(f"summary: SKIPPED {why}")
    sys.exit(SKIP)
