"""Workers that give freed memory back at once keep it while a task works."""

import os
import subprocess
import sys
import textwrap

import pytest

SCRIPT = """
    import resource
    import numpy as np
    from fbtwsvm.cluster.freed_memory import kept_for_reuse

    def faults():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(20):
            np.ones(1_000_000)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    outside = faults()
    with kept_for_reuse():
        with kept_for_reuse():
            pass
        faults()
        inside = faults()
    print(outside, inside, faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="malloc of Linux")
@pytest.mark.parametrize("trimmed", [True, False])
def test_arrays_are_made_of_memory_that_was_freed_before(trimmed):
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_TRIM_THRESHOLD_"}
    if trimmed:
        environment["MALLOC_TRIM_THRESHOLD_"] = "65536"
    script = textwrap.dedent(SCRIPT)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    outside, inside, after = map(int, done.stdout.split())
    if trimmed:
        assert inside < 0.1 * min(outside, after)
    else:
        assert after < 2 * outside + 1000  # nothing has changed
