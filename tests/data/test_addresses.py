"""Names and passwords of users are in no message, model file or report."""

import pytest

import fbtwsvm as package
from command import QUICK, called
from fbtwsvm.data.sources import DataError, open_source
from fbtwsvm.data.sources.address import masked, without_user
from helpers import write

ADDRESSES = {
    "postgresql://ann:pass@host:5432/base": "postgresql://host:5432/base",
    "Postgresql://ann:pass@host/base?query=SELECT 1": "Postgresql://host/base?query=SELECT 1",
    "postgresql+psycopg://ann@host/base": "postgresql+psycopg://host/base",
    "redis://:pass@host/0?stream=rows": "redis://host/0?stream=rows",
    "mysql://ann:pa/ss?@host/base": "mysql://host/base",
    "mysql://ann:pa@ss@host/base": "mysql://host/base",
    "postgresql:/ann:pass@host/base": "postgresql:/host/base",
    "postgresql//ann:pass@host/base": "postgresql//***@host/base",
    "postgresql:ann:pass@host/base": "***@host/base",
    "ann:pass@host/base": "***@host/base",
}
HARMLESS = [
    "redis://host/0?stream=a@b",
    "redis://host:6379/0?stream=rows",
    "C:\\rows@home.csv",
    "rows@home.csv",
    "row 5: a@b",
    "sqlite:////home/ann/rows@home.db",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_repeated_without_its_user(address):
    assert masked(address) == ADDRESSES[address]
    assert masked(f"error: {address}") == f"error: {ADDRESSES[address]}"


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_stay_as_they_are(text):
    assert masked(text) == without_user(text) == text


def test_secrets_in_the_messages_of_others():
    assert masked('login failed for "ann" (planned)', ["ann", None, ""]) == 'login failed for "***" (planned)'


@pytest.mark.parametrize("address", [address for address in ADDRESSES if "redis" not in address])
def test_no_command_prints_a_password(address, tmp_path):
    said = called("train", address, "-t", "y", "-o", tmp_path / "m.fbt", status=1)
    said += called("train", "rows.csv", address, "-t", "y", "-o", tmp_path / "m.fbt", status=2)
    assert not any(secret in said for secret in ("ann", "pass", "pa/", "ss@", "pa@"))


@pytest.mark.parametrize("scheme", ["SQLite", "GENERATE", "Redis"])
def test_capitals_in_a_scheme(scheme, rows, tmp_path):
    if scheme == "SQLite":
        address = write("db", rows, tmp_path).replace("sqlite", scheme)
        assert next(open_source(address).tables()).num_rows == 1300
    elif scheme == "GENERATE":
        assert next(open_source("GENERATE:sea?rows=3").tables()).num_rows == 3
    else:
        with pytest.raises(DataError, match="cannot be read"):
            list(open_source("Redis://127.0.0.1:1/0?stream=rows").tables())


def test_a_user_who_is_refused_is_not_named():
    for address in (
        "postgresql://zoe:pass@127.0.0.1:1/zoe?query=SELECT 1",
        "postgresql://127.0.0.1:1/base?user=zoe&password=pass&query=SELECT 1",
        "redis://zoe:pass@127.0.0.1:1/0?stream=rows",
        "redis://127.0.0.1:1/0?stream=rows&username=zoe&password=pass",
    ):
        source = open_source(address)
        with pytest.raises(DataError) as caught:
            list(source.tables())
        assert "zoe" not in str(caught.value)
        assert "pass" not in str(caught.value) + source.name


def test_a_user_whom_the_server_does_not_know_is_not_named(postgres):
    pytest.importorskip("psycopg")
    with pytest.raises(DataError, match=r'role "\*\*\*" does not exist'):
        list(open_source(postgres.replace("tester", "zoe") + "?query=SELECT 1").tables())


def test_a_database_user_is_not_in_the_model_file(postgres, tmp_path):
    """Older versions wrote the name: the run goes on all the same, and the name leaves the file."""
    pytest.importorskip("psycopg")
    address = f"{postgres}?query=SELECT i %25 7 AS a, i %25 7 / 4 AS y FROM generate_series(1, 500) AS i ORDER BY i"
    model, report = tmp_path / "m.fbt", tmp_path / "r.html"
    called("stream", address, "-t", "y", "--model", model, "--report", report, *QUICK)
    assert "tester" in address
    assert b"tester" not in model.read_bytes() + report.read_bytes()
    older = package.load(model)
    older.run.source = older.run.name = older.run.source.replace("//", "//tester@")
    package.save(older, model)
    assert b"tester" in model.read_bytes()
    assert '"new_rows": 0' in called("stream", address, "--model", model, "--json")
    assert b"tester" not in model.read_bytes()
