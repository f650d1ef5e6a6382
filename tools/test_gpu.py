"""Run the tests of rows on a device with the interpreter and the packages that are there; write a log.

    PYTHONPATH=src python tools/test_gpu.py [LOG]

Nothing is installed.  The log has the date, versions and the card, and no paths or names of machines.
"""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOG = ROOT / "docs" / "benchmarks" / "gpu_tests.log"


def main():
    """Print and write what pytest says; return its exit code."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    from benchmarks.gpu.base import has_gpu, header_text

    if not has_gpu():
        print("Torch sees no GPU here: `make test` runs the same tests on the processor.", file=sys.stderr)
        return 1
    log = Path(sys.argv[1]) if len(sys.argv) > 1 else LOG
    # conftest.py needs packages for other tests; those of a device need none of it.
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--noconftest", "-p", "no:cacheprovider", "-rs"]
    command += ["-n", "8"] * (find_spec("xdist") is not None)
    done = subprocess.run(
        [*command, "--durations=5", str(ROOT / "tests" / "device")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    text = re.sub(r"(?<![\w.])(/[\w.+-]+)+/(?=[\w.+-]+)", "", done.stdout)
    text = header_text() + "\n\n" + text.replace("bringing up nodes...\n", "")
    print(text)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(text)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
