"""Databases and live streams, against real servers on this machine."""

import shutil
import socket
import subprocess
import threading
import time
import uuid
from contextlib import ExitStack, suppress
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import fbtwsvm as package
from command import COMMAND, assert_equal, called, fbtwsvm_json
from fbtwsvm.data.generators import make
from fbtwsvm.data.sources import DataError, in_chunks, open_source
from fbtwsvm.data.sources.base import RowHash
from fbtwsvm.data.sources.redis import RedisSource
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


def test_rows_of_a_database_that_were_changed(filled, postgres, tmp_path):
    """Rows that were learned and then changed are an error; new rows are not, whatever types they show."""
    psycopg = pytest.importorskip("psycopg")
    address, model = filled[0].replace("x2, y", "x2, price, y"), tmp_path / "m.fbt"
    called("stream", address, "--model", model, "--drop", "price", *QUICK)  # no row has a price
    with psycopg.connect(postgres) as base:
        base.execute(f"INSERT INTO {filled[1]} (x0, x1, x2, y, price) VALUES (1, 1, 1, 1, 2.50), (1, 2, 1, 1, 3)")
    assert fbtwsvm_json("stream", address, "--model", model)["new_rows"] == 2
    with psycopg.connect(postgres) as base:
        base.execute(f"INSERT INTO {filled[1]} (x0, x1, x2, y, price) VALUES (1, 1, 1, 1, NULL), (1, 2, 1, 1, 0.25)")
    assert fbtwsvm_json("stream", address, "--model", model)["new_rows"] == 2
    with psycopg.connect(postgres) as base:
        base.execute(f"UPDATE {filled[1]} SET x1 = x1 + 1 WHERE number = 7")
    before = model.read_bytes()
    said = called("stream", address, "--model", model, status=1)
    assert f"does not begin any more with the {ROWS + 4:,} rows that were learned from it" in said
    assert model.read_bytes() == before


def test_the_scale_of_decimals_does_not_change_their_hash():
    def digest(*tables):
        rows = RowHash()
        for values in tables:
            rows.add(pa.table({"price": pa.array(list(map(Decimal, values)))}))
        return rows.digest()

    assert digest(["1.5", "20"], ["0.25"]) == digest(["1.5", "20", "0.25"])
    assert digest(["100"]) != digest(["1"])
    assert digest(["0.00"], ["7"]) == digest(["0"], ["7"]) != digest(["0"], ["70"])


def test_servers_that_are_not_there(tmp_path):
    for address in ("postgresql://nobody@127.0.0.1:1/none?query=SELECT 1", "redis://127.0.0.1:1/0?stream=rows"):
        said = called("train", address, "-t", "y", "-o", tmp_path / "m.fbt", status=1)
        assert said.count("\n") == 1
        assert "failed" in said or "cannot be read" in said
    assert not list(tmp_path.iterdir())


def test_a_stream_from_a_database_that_goes_away(postgres, tmp_path):
    """The rows that had come are learned and written."""
    psycopg = pytest.importorskip("psycopg")
    model, base = tmp_path / "m.fbt", f"base_{uuid.uuid4().hex}"
    place = postgres.removesuffix("postgres") + base
    columns = "random() AS x0, random() AS x1, i %25 2 AS y"
    query = f"SELECT {columns}, pg_sleep(CASE WHEN i > 8192 THEN 1 ELSE 0 END) FROM generate_series(1, 9999) AS i"
    command = [COMMAND, "stream", f"{place}?query={query}", "--drop", "pg_sleep", "--model", model, "--chunk", 500]
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {base}")
        with subprocess.Popen([*map(str, command), *map(str, QUICK)], stderr=subprocess.PIPE, text=True) as process:
            cut = 0
            while not cut:
                assert process.poll() is None
                time.sleep(0.1)
                cut = server.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                    "WHERE datname = %s AND wait_event = 'PgSleep'",
                    [base],
                ).fetchone()[0]
            said = process.communicate(timeout=60)[1]
        server.execute(f"DROP DATABASE {base} WITH (FORCE)")
    assert process.returncode == 1
    assert said.count("\n") == 1
    assert "database query failed" in said
    assert f"What was learned from the 7,700 rows before it is in {model}." in said
    assert package.load(model).rows == 7700


def test_a_redis_server_that_stops(tmp_path, monkeypatch):
    """The rows that had come are learned and written."""
    redis = pytest.importorskip("redis")
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--save", "", "--dir", str(tmp_path)]
    model = tmp_path / "m.fbt"
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        stack.callback(process.kill)  # or an error would wait for the server to end
        server = stack.enter_context(redis.Redis(port=port))
        for _ in range(600):
            with suppress(redis.ConnectionError):
                server.ping()
                break
            time.sleep(0.1)
        feed(server, "rows", table_rows(make("sea").rows(1000)))
        whole = RedisSource._next

        def stopped(*arguments):
            entries = whole(*arguments)
            if not entries:
                process.terminate()
                process.wait(timeout=60)
            return entries

        monkeypatch.setattr(RedisSource, "_next", stopped)
        said = called("stream", f"redis://127.0.0.1:{port}/0?stream=rows", "--model", model, *QUICK, status=1)
    assert "cannot be read" in said
    assert f"What was learned from the 1,000 rows before it is in {model}." in said
    assert said.count("\n") == 1
    assert package.load(model).rows == 1000


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
    server.xadd(name, {"a": b"\xff", "y": 0})
    with pytest.raises(DataError, match="not text in UTF-8"):
        list(open_source(address).tables())
    with pytest.raises(DataError, match="its address is malformed"):
        list(open_source("redis://localhost:port/0?stream=a").tables())


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


def places(source, tables, chunk=100):
    """Yield the place after each chunk, as the command does."""
    rows = 0
    for table in in_chunks(tables, chunk):
        rows += table.num_rows
        yield source.place_after(table, rows)


def read_from(address, place=""):
    """Return how many rows come after a place."""
    return sum(table.num_rows for table in open_source(address.replace("idle=1", "idle=0")).tables_after(place))


@pytest.fixture
def long(live):
    """Return a stream of 5,000 entries with the ids 1-0, 2-0 and so on; its readers do not wait for more."""
    server, name, address = live
    fill(server, name, range(1, 5001))
    return server, name, address.replace("idle=1", "idle=0")


def fill(server, name, numbers, value="{}"):
    pipe = server.pipeline(transaction=False)
    for i in numbers:
        pipe.xadd(name, {"a": value.format(i), "y": i % 2}, id=f"{i}-0")
    pipe.execute()


def test_entries_trimmed_while_they_are_read(long):
    server, name, address = long
    tables = open_source(address).tables()
    assert next(tables).num_rows == 1000
    server.xtrim(name, maxlen=200, approximate=False)
    with pytest.raises(DataError, match=r"^3,800 entries were removed .* that are left, add --from-start"):
        next(tables)


@pytest.mark.parametrize("gone", [range(4801, 4901), range(2001, 2501), [5000]], ids=["near", "far", "last"])
def test_entries_deleted_in_the_middle_while_they_are_read(long, gone):
    server, name, address = long
    tables = open_source(address).tables()
    for _ in range(1 if gone[0] == 2001 else 4):
        next(tables)
    server.xdel(name, *(f"{i}-0" for i in gone))
    with pytest.raises(
        DataError, match=rf"^{len(gone)} entr(y was|ies were) removed .* \(XTRIM {name} MINID \d000-1\), then"
    ):
        next(tables)


def test_entries_deleted_while_nobody_reads(long):
    """Whatever was learned may go; what was not may not, wherever it was and whatever had been deleted before."""
    server, name, address = long
    server.xdel(name, "4000-0", "4500-0")  # before the first read: they are nobody's
    source = open_source(address)
    place = next(places(source, source.tables()))
    assert read_from(address, place) == 4898
    server.xdel(name, "3-0", "100-0")
    server.xtrim(name, minid="50-0", approximate=False)
    assert read_from(address, place) == 4898
    server.xdel(name, "2000-0")  # below 4500-0, so only the counts show it
    with pytest.raises(DataError, match=r"^1 entry was removed"):
        read_from(address, place)
    server.xtrim(name, minid="101-0", approximate=False)
    assert read_from(address) == 4897


def test_a_stream_that_is_made_anew(long):
    server, name, address = long
    source = open_source(address)
    place = list(places(source, source.tables()))[19]  # 2,000 rows
    for numbers, value in (
        (range(1, 6001), "other {}"),  # the same ids, other rows
        (range(1, 1001), "{}"),  # it has not come so far yet
        (range(3, 12001, 3), "{}"),  # other ids
        (range(20_000, 26_000), "{}"),  # all ids are new
    ):
        server.delete(name)
        fill(server, name, numbers, value)
        with pytest.raises(DataError, match=r"is not the stream that was read before.*add --from-start"):
            read_from(address, place)
    server.delete(name)
    fill(server, name, range(1, 5001))  # a copy that holds the same is the same
    assert read_from(address, place) == 3000


def test_a_stream_that_is_made_anew_while_it_is_read(long):
    server, name, address = long
    tables = open_source(address).tables()
    next(tables)
    server.delete(name)
    with pytest.raises(DataError, match="does not exist any more"):
        next(tables)
    tables = open_source(address).tables()
    fill(server, name, range(1, 101))
    next(tables)
    server.delete(name)
    fill(server, name, range(1, 111), "other {}")
    with pytest.raises(DataError, match="is not the stream"):
        list(tables)


def test_places_of_older_model_files(long):
    server, name, address = long
    server.xtrim(name, maxlen=4900, approximate=False)
    assert read_from(address, "600-0/100/500") == 4400
    server.xdel(name, "700-0")
    with pytest.raises(DataError, match=r"^1 entry was removed"):
        read_from(address, "600-0/100/500")


def test_a_server_that_does_not_count(long, monkeypatch):
    """Servers before Redis 7 cannot tell of all losses, which is said; some can be seen all the same."""
    server, name, address = long
    whole = RedisSource._transaction

    def older(self, *arguments):
        info, *entries = whole(self, *arguments)
        new = ("entries-added", "max-deleted-entry-id", "recorded-first-entry-id")
        return info and {key: value for key, value in info.items() if key not in new}, *entries

    monkeypatch.setattr(RedisSource, "_transaction", older)
    source = open_source(address)
    with pytest.warns(UserWarning, match="older than Redis 7"):
        place = list(places(source, source.tables()))[19]
    server.delete(name)
    fill(server, name, range(1, 6001), "other {}")
    with pytest.raises(DataError, match="is not the stream"):
        read_from(address, place)


def test_what_was_read_before_a_loss_is_learned(live, rows, tmp_path, monkeypatch):
    """Entries are trimmed while the command runs: it learns all that it has read, writes it, and ends with status 1."""
    server, name, address = live
    feed(server, name, table_rows(rows) + table_rows(rows)[:500])
    model, report = tmp_path / "m.fbt", tmp_path / "r.html"
    whole = RedisSource._tables

    def trimmed(self, entries):
        server.xtrim(name, maxlen=20, approximate=False)
        return whole(self, entries)

    monkeypatch.setattr(RedisSource, "_tables", trimmed)
    said = called("stream", address, "--model", model, "--report", report, "--chunk", 300, *QUICK, status=1)
    assert f"{ROWS + 500 - 1000 - 20} entries were removed" in said
    assert f"What was learned from the 1,000 rows before it is in {model}. The report is in {report}" in said
    assert said.count("\n") == 1
    assert package.load(model).run.rows == 1000
    assert report.exists()
    monkeypatch.undo()
    assert fbtwsvm_json("stream", address, "--model", model, "--from-start")["new_rows"] == 20
