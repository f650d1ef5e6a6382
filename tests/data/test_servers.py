"""Databases and live streams, against real servers on this machine."""

import subprocess
import threading
import time
import uuid

import numpy as np
import pytest

import fbtwsvm as package
from command import COMMAND, assert_equal, called, fbtwsvm_json
from fbtwsvm.data.sources import DataError, in_chunks, open_source
from helpers import ROWS, learned, table_rows

QUICK = ("-t", "y", "--n-components", 30, "--warm-up", 200, "--gamma", "scale")


@pytest.fixture
def filled(postgres, rows):
    """Return the address of a table with the rows, and its name."""
    psycopg = pytest.importorskip("psycopg")
    name = f"rows_{uuid.uuid4().hex}"
    with psycopg.connect(postgres) as base:
        base.execute(
            f"CREATE TABLE {name} (number serial PRIMARY KEY, x0 double precision, x1 double precision, "
            "x2 double precision, y integer, price numeric(10, 2))"
        )
        with base.cursor().copy(f"COPY {name} (x0, x1, x2, y) FROM STDIN") as copy:
            for row in table_rows(rows):
                copy.write_row(row)
    yield f"{postgres}?query=SELECT x0, x1, x2, y FROM {name} ORDER BY number", name
    with psycopg.connect(postgres) as base:
        base.execute(f"DROP TABLE {name}")


def test_postgres_yields_the_same_rows_and_the_same_model(filled, reference):
    model = learned(filled[0])
    assert model.rows == ROWS
    np.testing.assert_array_equal(model.estimator.planes_, reference.estimator.planes_)


def test_postgres_types_and_gaps(filled, postgres):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres) as base:
        base.execute(f"UPDATE {filled[1]} SET price = number / 4.0 WHERE number % 3 = 0")
    address = f"{postgres}?query=SELECT price, number %25 2 = 0 AS even, y FROM {filled[1]} ORDER BY number"
    found = next(in_chunks(open_source(address).tables(), 10))
    assert [None if value is None else float(value) for value in found["price"].to_pylist()[:3]] == [None, None, 0.75]
    assert found["even"].to_pylist()[:2] == [False, True]
    assert found["y"].type == "int64"
    with pytest.raises(DataError, match="Row 1 has no value in column 'price'"):
        learned(address)


def test_a_database_that_goes_away(postgres, tmp_path):
    """The connection is cut in the middle: one line, status 1, the model as it was."""
    psycopg = pytest.importorskip("psycopg")
    model, base = tmp_path / "m.fbt", f"base_{uuid.uuid4().hex}"
    called("train", "generate:sea?rows=400", "-o", model, "--chunk", 100, *QUICK)
    before = model.read_bytes()
    place = postgres.removesuffix("postgres") + base
    columns = "random() AS x0, random() AS x1, random() AS x2, 1 AS y"
    slow = f"{place}?query=SELECT {columns}, pg_sleep(0.01) FROM generate_series(1, 9999)"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {base}")
        with subprocess.Popen([COMMAND, "update", model, slow], stderr=subprocess.PIPE, text=True) as process:
            cut = 0
            while not cut:
                assert process.poll() is None
                time.sleep(0.1)
                cut = server.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s", [base]
                ).fetchone()[0]
            said = process.communicate(timeout=60)[1]
        server.execute(f"DROP DATABASE {base} WITH (FORCE)")
    assert process.returncode == 1
    assert said.count("\n") == 1
    assert "database query failed" in said
    assert model.read_bytes() == before


def test_servers_that_are_not_there(tmp_path):
    for address in ("postgresql://nobody@127.0.0.1:1/none?query=SELECT 1", "redis://127.0.0.1:1/0?stream=rows"):
        said = called("train", address, "-t", "y", "-o", tmp_path / "m.fbt", status=1)
        assert said.count("\n") == 1
        assert "failed" in said or "cannot be read" in said
    assert not list(tmp_path.iterdir())


@pytest.fixture
def live(redis_server):
    """Return a connection, the name of a stream, and its address."""
    redis = pytest.importorskip("redis")
    name = f"test-{uuid.uuid4().hex}"
    with redis.Redis.from_url(redis_server) as server:
        yield server, name, f"{redis_server}?stream={name}&idle=1"
        server.delete(name)


def feed(server, name, rows):
    pipe = server.pipeline(transaction=False)
    for row in rows:
        pipe.xadd(name, {"x0": repr(row[0]), "x1": repr(row[1]), "x2": repr(row[2]), "y": row[3]})
    pipe.execute()


def test_redis_yields_the_same_rows_and_the_same_model(live, rows, reference):
    server, name, address = live
    feed(server, name, table_rows(rows))
    model = learned(address)
    assert model.rows == ROWS
    np.testing.assert_array_equal(model.estimator.planes_, reference.estimator.planes_)


def test_redis_rows_are_learned_as_they_come(live, rows, tmp_path):
    """Chunks are cut by count however slowly rows come in; the model is that of rows which were all there."""
    server, name, address = live
    held = table_rows(rows)
    feed(server, name, held[:250])

    def slowly():
        for first in range(250, ROWS, 150):
            time.sleep(0.2)
            feed(server, name, held[first : first + 150])

    feeder = threading.Thread(target=slowly)
    feeder.start()
    told = fbtwsvm_json("stream", address.replace("idle=1", "idle=3"), "--model", tmp_path / "slow.fbt", *QUICK)
    feeder.join()
    assert told["rows"] == ROWS
    called("stream", address, "--model", tmp_path / "fast.fbt", *QUICK)
    assert_equal(package.load(tmp_path / "slow.fbt"), package.load(tmp_path / "fast.fbt"))


def test_redis_goes_on_after_the_last_row(live, rows, tmp_path):
    server, name, address = live
    held = table_rows(rows)
    feed(server, name, held[:700])
    called("stream", address, "--model", tmp_path / "m.fbt", *QUICK)
    feed(server, name, held[700:])
    told = fbtwsvm_json("stream", address, "--model", tmp_path / "m.fbt")
    assert (told["rows"], told["new_rows"]) == (ROWS, ROWS - 700)
    assert package.load(tmp_path / "m.fbt").estimator.inspect().seen == ROWS


def test_redis_entries_with_other_fields(live):
    server, name, address = live
    server.xadd(name, {"a": 1, "y": 0})
    server.xadd(name, {"a": 1})
    with pytest.raises(DataError, match=r"entry .* has other fields than the one before it \(y\)"):
        list(open_source(address).tables())
    server.set(name + "text", "not a stream")
    with pytest.raises(DataError, match="cannot be read"):
        list(open_source(address.replace(name, name + "text")).tables())
    server.delete(name + "text")


def test_entries_removed_before_they_were_learned(live, rows, tmp_path):
    """Trimming what has been learned is fine; trimming more is said, not passed over."""
    server, name, address = live
    held, model = table_rows(rows), tmp_path / "m.fbt"
    feed(server, name, held[:400])
    called("stream", address, "--model", model, *QUICK)
    server.xtrim(name, maxlen=50, approximate=False)
    feed(server, name, held[400:900])
    assert fbtwsvm_json("stream", address, "--model", model)["new_rows"] == 500
    feed(server, name, held[900:])
    server.xtrim(name, maxlen=100, approximate=False)
    said = called("stream", address, "--model", model, status=1)
    assert f"{ROWS - 900 - 100} entries were removed" in said
    assert fbtwsvm_json("stream", address, "--model", model, "--from-start")["new_rows"] == 100
    server.delete(name)
    assert "does not exist any more" in called("stream", address, "--model", model, status=1)
