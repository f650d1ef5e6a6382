"""Jobs, each in a process of its own, with a time limit and a progress bar; results become rows of results.csv."""

import csv
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.reproduce import worker
from fbtwsvm._files import replacing

COLUMNS = (
    "table", "dataset", "method", "setting", "d", "seed", "rows", "accuracy", "prequential", "train_s", "test_s",
    "kept",
    "nsv", "duals", "landmarks", "peak_mib", "status", "why", "parameters",
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """Something to do for one line of a table; `options` go to the worker."""

    table: str
    dataset: str
    method: str
    kind: str = "learn"
    setting: str = ""
    d: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    limited: bool = True  # ours is waited for
    size: int = 0  # rows, or anything that grows with the time it takes

    @property
    def title(self):
        """What the progress bar says."""
        return " ".join(str(part) for part in (self.table, self.dataset, self.method, self.setting) if part)


@dataclass
class Runner:
    """Does jobs and collects their results.

    Parameters
    ----------
    limit : float
        Seconds that one job may take for all its seeds together; what is finished by then counts.
    here : bool
        Run jobs in this process, without a limit: for tests and for debugging.
    quiet : bool
        No progress bar.
    finished : Path or None
        Folder for the results of finished jobs.
    resume : bool
        Take over what is there.
    """

    limit: float
    here: bool = False
    quiet: bool = False
    finished: Path | None = None
    resume: bool = False
    rows: list[dict[str, Any]] = field(default_factory=list)

    def do(self, jobs, *, at_once=1):
        """Do jobs, so many at once, one thread for each, and return their results in the order of the jobs."""
        console = Console(stderr=True, quiet=self.quiet)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        found = [None] * len(jobs)
        with Progress(*columns, console=console) as progress, ThreadPoolExecutor(1 if self.here else at_once) as pool:
            bar = progress.add_task(jobs[0].table if jobs else "", total=len(jobs))

            def run(number):
                progress.update(bar, description=jobs[number].title)
                found[number] = self._results(jobs[number])
                progress.advance(bar)

            # what is waited for comes first, and of it the largest; then rivals, the quickest first
            order = sorted(
                range(len(jobs)), key=lambda n: (jobs[n].limited, jobs[n].size * (1 if jobs[n].limited else -1))
            )
            list(pool.map(run, order))
        for job, results in zip(jobs, found, strict=True):
            self.rows += results
            for result in results:
                if result["status"] not in ("ok", "missing"):
                    text = f"{job.title}: {result['status']}, {result.get('why', '')}"
                    console.print(text, markup=False, soft_wrap=True)
        return found

    def again(self, job, table):
        """Return results that a table has measured already, as rows of this job's table too, or None."""
        wanted = (table, job.dataset, job.method, job.setting, job.d)
        same = [
            {**row, "table": job.table}
            for row in self.rows
            if (row["table"], row["dataset"], row["method"], row["setting"], row["d"]) == wanted
        ]
        return same or None

    def _results(self, job):
        label = {
            "table": job.table, "dataset": job.dataset, "method": job.method, "setting": job.setting, "d": job.d,
            "kind": job.kind,
        }  # fmt: skip
        options = {"name": job.dataset, "method": job.method, "d": job.d, **job.options}
        task = {"kind": job.kind, "options": options}
        limit = self.limit if job.limited else None
        return [{**label, "status": "ok", **result} for result in self._finished(task, limit)]

    def _finished(self, task, limit):
        """Do a job, or take over what an earlier run has found."""
        name = hashlib.sha256(json.dumps(task, sort_keys=True).encode()).hexdigest()[:24]
        places = [self.finished / f"{name}.json", self.finished / f"{name}-{limit}s.json"] if self.finished else []
        for place in places:
            if self.resume and place.exists():
                return json.loads(place.read_text())
        found = list(worker.results(task)) if self.here else self._in_own_process(task, limit)
        statuses = {result.get("status", "ok") for result in found}
        if places and statuses <= {"ok", "over time"}:  # another limit may bring more
            with replacing(places["over time" in statuses]) as file:
                file.write(json.dumps(found).encode())
        return found

    def _in_own_process(self, task, limit):
        threads = dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.reproduce.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **threads}, cwd=Path(__file__).parents[2],
        )  # fmt: skip
        errors = []
        reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
        reader.start()
        over = threading.Event()
        clock = threading.Timer(limit or 0.0, lambda: (over.set(), process.kill()))
        if limit:
            clock.start()
        with suppress(BrokenPipeError):  # its status will say why
            json.dump(task, process.stdin)
            process.stdin.close()
        found = [json.loads(line) for line in process.stdout if line.endswith("\n")]
        clock.cancel()
        status = process.wait()
        reader.join()
        if status and not over.is_set():
            lines = errors[0].strip().splitlines() or [f"the process ended with status {status}"]
            memory = "MemoryError" in lines[-1] or status == -signal.SIGKILL  # which is how the system frees memory
            found.append({"status": "out of memory" if memory else "failed", "why": lines[-1]})
        elif over.is_set():
            found.append({"status": "over time", "why": f"more than {limit:.0f} s"})
        return found

    def write(self, path):
        """Write all rows to a CSV file."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
            writer.writeheader()
            for row in self.rows:
                shown = {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()}
                writer.writerow({**shown, "parameters": json.dumps(row["parameters"]) if "parameters" in row else ""})


def values(results, key):
    """Return one column of the results that are there."""
    return [row[key] for row in results if row["status"] == "ok" and row.get(key) is not None]


def state(results):
    """Return why there is nothing to show, or an empty text."""
    return (
        next((row["status"] for row in results if row["status"] != "ok"), "") if not values(results, "accuracy") else ""
    )
