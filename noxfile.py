#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.10.14"]
# ///
"""`make test` under every Python that is here: `pipx run nox`, or `pipx run nox -s "test(3.13)"` for one of them."""

import shutil
import subprocess

import nox

nox.needs_version = ">=2025.10.14"
nox.options.default_venv_backend = "none"  # the Makefile makes the environments


def works(command):
    """Whether a command is there, and is not only a stand-in for a version that is not installed."""
    return bool(shutil.which(command)) and not subprocess.run([command, "-c", ""], capture_output=True).returncode


@nox.session
@nox.parametrize("python", ["3.11", "3.12", "3.13", "3.14"], ids=["3.11", "3.12", "3.13", "3.14"])
def test(session, python):
    """Run all checks and tests, in .venv-3.13 or the like."""
    if not works(f"python{python}"):
        session.skip(f"There is no python{python} here.")
    session.run("make", "test", f"PYTHON=python{python}", f"VENV=.venv-{python}", external=True)


if __name__ == "__main__":
    nox.main()
