"""The report: one page that stands alone, readable on a telephone and on paper, looked at in a real browser."""

import base64
import os
import re
import shlex
import shutil
from copy import deepcopy
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from html import unescape

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

from command import called
from fbtwsvm import FBTWSVM, __version__
from fbtwsvm.data.columns import Choices
from fbtwsvm.data.sources import DataError
from fbtwsvm.data.table_model import Run, TableModel
from fbtwsvm.evaluate import Prequential, Score
from fbtwsvm.report import panels, write_report
from fbtwsvm.report.command_line import shown_command
from fbtwsvm.report.tables import class_rows

PHONE, PAPER, DESK = 390, 718, 1280
TITLES = ["Accuracy, tested before learned", "Speed", "Memory", "Trust in the members", "Class balance", "Confusion"]
TITLES += ["Important columns", "Decision regions"]
SOURCE = "generate:rbf?rows=6000&features=2&classes=3&centroids=6&spread=0.2&drift_every=2000&seed=1"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return the path of a report on two columns with drift."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    called("stream", SOURCE, "-t", "y", "--decay", "auto", "--n-components", 50, "--warm-up", 200, "--report", path)
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Return a headless Chromium."""
    driver, program = shutil.which("chromedriver"), shutil.which("chromium") or shutil.which("chromium-browser")
    if not driver or not program:
        if os.environ.get("FBTWSVM_REQUIRE_SERVERS"):
            pytest.fail("Chromium is not installed, and FBTWSVM_REQUIRE_SERVERS says that these tests must run")
        pytest.skip("chromium and chromedriver are not installed: .ci/servers install")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    quiet = ("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync")
    for flag in (*quiet, "disable-background-networking", "disable-component-update", "hide-scrollbars"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(driver)) as chrome:
        yield chrome


def show(browser, path, width, media="screen"):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
    browser.get(path.as_uri())


CLIPPED = """
const out = [];
for (const svg of document.querySelectorAll('svg')) {
  const box = svg.getBoundingClientRect();
  for (const text of svg.querySelectorAll('text')) {
    const r = text.getBoundingClientRect();
    if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1)
      out.push(svg.getAttribute('aria-label') + ': ' + text.textContent);
  }
}
return out;
"""
SMALLEST = """
return Math.min(...[...document.querySelectorAll('svg text')].map(text => {
  const m = text.getScreenCTM();
  return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(m.a, m.b);
}));
"""
OVERLAPS = """
const out = [];
for (const svg of document.querySelectorAll('svg'))
  for (const axis of svg.querySelectorAll('[id^="matplotlib.axis"]')) {
    const texts = axis.querySelectorAll('[id^="xtick"] text, [id^="ytick"] text');
    const ticks = [...texts].map(t => t.getBoundingClientRect());
    for (let i = 1; i < ticks.length; i++) {
      const [a, b] = [ticks[i - 1], ticks[i]];
      if (a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5)
        out.push(svg.getAttribute('aria-label'));
    }
  }
return out;
"""


@pytest.mark.parametrize(("width", "media"), [(PHONE, "screen"), (DESK, "screen"), (PAPER, "print")])
def test_nothing_is_clipped_or_too_small(browser, page, width, media):
    show(browser, page, width, media)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(CLIPPED) == []
    assert browser.execute_script(OVERLAPS) == []
    assert browser.execute_script(SMALLEST) >= 9.0
    labels = browser.execute_script(
        "return [...document.querySelectorAll('svg')].map(s => s.getAttribute('aria-label'))"
    )
    assert labels == TITLES
    body = browser.execute_script("return parseFloat(getComputedStyle(document.body).fontSize)")
    assert body >= 14


def test_every_axis_has_a_name(browser, page):
    show(browser, page, DESK)
    words = browser.execute_script(
        "return [...document.querySelectorAll('svg')].map(s => [...s.querySelectorAll('text')].map(t => t.textContent))"
    )
    wanted = [("rows", "accuracy"), ("rows", "rows a second"), ("rows", "rows"), ("trust", "member")]
    wanted += [("rows", "share of the last rows"), ("answer", "true class"), ("importance", "x0"), ("x0", "x1")]
    for texts, names in zip(words, wanted, strict=True):
        for name in names:
            assert texts.count(name) >= names.count(name), texts


def test_nothing_is_fetched(browser, page):
    show(browser, page, DESK)
    fetched = "return performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length"
    assert browser.execute_script(fetched) == 0
    text = page.read_text()
    assert "<script" not in text
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text)
    assert not re.findall(r"url\((?!#|data:)", text)


def test_printed_on_a4(browser, page):
    show(browser, page, DESK)
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    data = base64.b64decode(printed["data"])
    sizes = {tuple(map(float, box)) for box in re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)", data)}
    assert sizes
    for wide, high in sizes:
        assert (wide, high) == pytest.approx((595, 842), abs=2)


def test_the_page_says_what_happened(page):
    text = page.read_text()
    for part in (
        "label of the row before",
        "error rate rose",
        "rows kept",
        "<b>auto</b>",
        "n_components",
        "balanced accuracy",
    ):
        assert part in text


def test_the_page_says_when_and_how_it_was_made(page):
    text = page.read_text()
    day = datetime.now().astimezone().date()
    assert any(f"Written on {date:%Y-%m-%d} " in text for date in (day, day - timedelta(days=1)))
    assert f"by fbtwsvm {__version__} with" in text
    assert f"fbtwsvm stream '{SOURCE}' -t y --decay auto --n-components 50 --warm-up 200 --report" in unescape(text)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://joe:secret@host/db?table=rows", "postgresql://host/db?table=rows"),
        (
            "Postgresql+psycopg://joe:secret@host/db?query=SELECT 'a@b'",
            "Postgresql+psycopg://host/db?query=SELECT 'a@b'",
        ),
        ("redis://:se@c?r/et@host:6379/0?stream=rows", "redis://host:6379/0?stream=rows"),
        ("redis://joe@host/0?stream=rows&password=secret", "redis://host/0?stream=rows&password=***"),
        ("postgres:/joe:secret@host/db", "postgres:/host/db"),
        ("postgresql://host/db?user=joe&password=secret&table=t", "postgresql://host/db?user=***&password=***&table=t"),
        ("--from=mysql://joe:secret@host/db", "--from=mysql://host/db"),
        ("sqlite:///folder/my@file.db?table=rows", "sqlite:///folder/my@file.db?table=rows"),
        ("rows@2026.csv", "rows@2026.csv"),
        (SOURCE, SOURCE),
    ],
)
def test_user_names_and_passwords_are_not_shown(address, shown):
    assert shown_command(["stream", address]) == f"fbtwsvm stream {shlex.quote(shown)}"


def test_secrets_are_in_neither_command_nor_name(tmp_path):
    model = reported(2)
    model.run.name = "postgresql://joe@host/db SELECT 1"
    write_report(model, tmp_path / "r.html", ["stream", "postgresql://joe:secret@host/db?query=SELECT 1"])
    text = (tmp_path / "r.html").read_text()
    assert "joe" not in text
    assert "secret" not in text
    assert "<h1>postgresql://host/db SELECT 1</h1>" in text


def reported(n_classes, columns=("a", "b", "c"), rows=900, **options):
    """Return a small stream with the record that a report needs."""
    return deepcopy(learned(n_classes, columns, rows, **options))


@cache
def learned(n_classes, columns, rows, *, labels=None, chunk=100, every=50, **parameters):
    random = np.random.default_rng(0)
    y = random.integers(n_classes, size=rows)
    labels = [f"<class & {k}>" for k in range(n_classes)] if labels is None else labels
    table = {name: random.normal(size=rows) + y % 3 for name in columns}
    table = pa.table({**table, "y": [labels[k] for k in y]})
    parameters = {"n_components": 20, "warm_up": 100, "random_state": 0, **parameters}
    model = TableModel.begin(table, Choices("y"), FBTWSVM(**parameters))
    record = Prequential(model.estimator, (), 200, every, None, False, 400)
    model.run = Run("here", "a <source> & more", "", rows, chunk, record)
    for first in range(0, rows, chunk):
        model.learn(table.slice(first, chunk), step=record.step)
    record.finish()
    return model


def drawn_by(panel, model):
    """Return the axes on which a panel has drawn."""
    ax = Figure(figsize=(4.2, 3.2), layout="constrained").add_subplot()
    panel(ax, model)
    return ax


def answered(counts, labels=None, **parameters):
    """Return a model of three classes with the record of another one, whose confusion matrix is given."""
    counts = np.asarray(counts)
    labels = np.arange(len(counts)) if labels is None else np.asarray(labels)
    true, answers = (np.repeat(part.ravel(), counts.ravel()) for part in np.indices(counts.shape))
    model = reported(3, ("a", "b"), labels=tuple(np.resize(labels, 3).tolist()), **parameters)
    record = model.run.record
    record.score = Score(len(true))
    record.score.add(labels[true], labels[answers])
    record.snapshots = [replace(shot, window_classes=record.score.window_classes()) for shot in record.snapshots]
    return model


def test_figures_of_each_class(tmp_path):
    write_report(answered([[6, 2], [1, 1]], ["ant", "bee"]), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "<tr><th>ant</th><td>8</td><td>0.857</td><td>0.750</td><td>0.800</td></tr>" in text
    assert "<tr><th>bee</th><td>2</td><td>0.333</td><td>0.500</td><td>0.400</td></tr>" in text


def test_of_many_classes_the_worst_have_their_figures(tmp_path):
    counts = np.diag(np.full(30, 10))
    counts[7, 8] = 5
    counts[9, 8] = 20
    model = answered(counts)
    assert [row[0] for row in class_rows(model)[:3]] == [8, 9, 7]
    assert len(class_rows(model)) == 20
    write_report(model, tmp_path / "r.html")
    assert "The 20 classes with the lowest F1, of 30." in (tmp_path / "r.html").read_text()


def test_confusion_shows_counts_and_colours_shares():
    ax = drawn_by(panels.confusion, answered([[60, 20], [3, 1]]))
    assert [text.get_text() for text in ax.texts] == ["60", "20", "3", "1"]
    assert np.allclose(ax.images[0].get_array(), [[0.75, 0.25], [0.75, 0.25]])


def test_large_counts_fit_their_cells():
    counts = np.full((10, 10), 3)
    counts[np.diag_indices(10)] = 123_456
    ax = drawn_by(panels.confusion, answered(counts))
    ax.figure.draw_without_rendering()
    assert {text.get_text() for text in ax.texts} == {"123k", "3"}
    width = ax.get_window_extent().width / 10
    assert max(text.get_window_extent().width for text in ax.texts) < width


def test_the_most_confused_of_many_classes_are_listed(tmp_path):
    counts = np.diag(np.full(100, 10))
    counts[4, 90], counts[70, 2], counts[3, 5] = 30, 20, 1
    model = answered(counts)
    write_report(model, tmp_path / "r.html")
    assert "Most confused" in (tmp_path / "r.html").read_text()
    ax = drawn_by(panels.confused, model)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["4 → 90", "70 → 2", "3 → 5"]
    assert [bar.get_width() for bar in ax.patches] == [30, 20, 1]
    assert [text.get_text() for text in ax.texts] == ["75 %", "67 %", "9 %"]
    write_report(answered(np.diag(np.full(100, 10))), tmp_path / "r.html")  # none was confused
    assert "Most confused" not in (tmp_path / "r.html").read_text()


def test_trust_in_each_member(tmp_path):
    model = reported(3, decay="auto")
    ax = drawn_by(panels.trust, model)
    assert [bar.get_width() for bar in ax.patches] == model.estimator.memory_report().trust.tolist()
    names = ["since a change", "half-life 1,000", "half-life 100", "half-life 10"]
    assert [text.get_text() for text in ax.get_yticklabels()] == [*names, *(f"linear, {name}" for name in names[:3])]
    write_report(model, tmp_path / "r.html")
    words = " ".join((tmp_path / "r.html").read_text().split())
    assert "Share of each member in the answer now." in words
    write_report(reported(2), tmp_path / "r.html")
    assert "Trust" not in (tmp_path / "r.html").read_text()


def with_curves(accuracy, before):
    model = reported(2)
    record = model.run.record
    record.snapshots = [
        replace(shot, rows=100 * k, accuracy=a, window_accuracy=a, window_repeated=b)
        for k, (shot, a, b) in enumerate(zip(record.snapshots, accuracy, before, strict=False), start=1)
    ]
    record.score.same, record.score.tested = 300, 1000
    return drawn_by(panels.accuracy, model)


def test_the_label_before_does_not_squeeze_the_accuracy():
    ax = with_curves([0.90, 0.95, 0.93], [0.3, 0.31, 0.29])
    low, high = ax.get_ylim()
    assert 0.88 < low < 0.90
    assert 0.95 < high < 0.97
    assert "label before: 30 % (below)" in [text.get_text() for text in ax.get_legend().get_texts()]
    ax = with_curves([0.90, 0.95, 0.93], [0.3, 0.92, 0.29])
    assert ax.get_ylim() == (low, high)
    assert "label before: 30 %" in [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("accuracy", [0.0, 0.5, 1.0])
def test_an_accuracy_that_does_not_change_has_an_axis_with_whole_percents(accuracy):
    ax = with_curves([accuracy] * 3, [0.5] * 3)
    ax.figure.draw_without_rendering()
    low, high = ax.get_ylim()
    assert low < accuracy < high
    names = [tick.label1.get_text() for tick in ax.yaxis.get_major_ticks() if 0 <= tick.get_loc() <= 1]
    assert len(set(names)) == len(names) >= 3
    assert all(re.fullmatch(r"\d+%", name) for name in names)


def test_rows_before_the_first_test_have_no_accuracy():
    assert np.isfinite(with_curves([np.nan, 0.9, 0.8], [np.nan, 0.5, 0.5]).get_ylim()).all()


def test_a_class_has_one_colour_in_all_plots():
    model = answered(np.full((12, 12), 2))
    shares = {area.get_label(): area.get_facecolor()[0, :3] for area in drawn_by(panels.balance, model).collections}
    points = {c.get_label(): c.get_facecolor()[0, :3] for c in drawn_by(panels.regions, model).collections}
    assert len(points) == 3
    for label, colour in points.items():
        assert np.allclose(shares[label], colour), label


def test_labels_and_names_are_text(tmp_path):
    labels = ("<script>alert(1)</script>", "\x1b[31mred", "$a$ \u202eltr", "_" + "long" * 60)
    model = reported(4, ("<b>", "x\x07y"), labels=labels)
    model.run.name = "rows\udcff.csv"  # as Python reads the name of a file that is not UTF-8
    for suffix in (".html", ".png"):
        write_report(model, tmp_path / f"r{suffix}", ["stream", "rows\udcff.csv\x1b[2J"])
    text = (tmp_path / "r.html").read_text()
    assert "<script" not in text
    assert "<b>x" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not [letter for letter in text if not letter.isprintable() and letter not in "\n\u200b"]
    for shown in (r"\x1b[31mred", r"\u202eltr", r"x\x07y", r"rows\udcff.csv\x1b[2J"):
        assert shown in text
    assert "long" * 20 not in text


def test_letters_that_the_font_lacks(tmp_path, recwarn):
    model = reported(2, labels=("\u732b", "\u72ac"))
    write_report(model, tmp_path / "r.html")
    assert not recwarn.list  # the browser has them
    assert "\u732b" in (tmp_path / "r.html").read_text()
    with pytest.warns(UserWarning, match="letters that its font lacks"):
        write_report(model, tmp_path / "r.png")


def test_a_run_of_a_few_rows(tmp_path):
    """One snapshot is a point in a plot, not an invisible line."""
    model = reported(2, ("a", "b"), rows=30, chunk=10, every=500, warm_up=10)
    assert len(model.run.record.snapshots) == 1
    for panel in (panels.accuracy, panels.speed, panels.memory):
        ax = drawn_by(panel, model)
        assert all(line.get_marker() == "o" for line in ax.lines)
        assert ax.get_xlim()[0] == 0
        assert ax.get_xlim()[1] > 30
    bands = drawn_by(panels.balance, model).collections
    assert all(np.ptp(band.get_paths()[0].vertices[:, 0]) == 30 for band in bands)
    for suffix in (".html", ".png"):
        write_report(model, tmp_path / f"r{suffix}")


@pytest.mark.parametrize("n_classes", [1, 2, 12, 100])
def test_any_number_of_classes(n_classes, tmp_path):
    model = answered(np.eye(100, dtype=int) + 1) if n_classes == 100 else reported(n_classes)
    for suffix in (".html", ".png"):
        write_report(model, tmp_path / f"r{suffix}")
    text = (tmp_path / "r.html").read_text()
    assert "a &lt;source&gt; &amp; more" in text
    assert "<source>" not in text
    assert (tmp_path / "r.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(("n_classes", "form"), [(100, "<class & {}>"), (100, ""), (10, ""), (1, "")])
def test_numbers_of_classes_in_a_browser(browser, tmp_path, n_classes, form):
    counts = np.random.default_rng(0).integers(50, size=(n_classes, n_classes))
    model = answered(counts, [form.format(k) for k in range(n_classes)] if form else None, decay="auto")
    write_report(model, tmp_path / "r.html", ["stream", "x" * 300])
    for width in (PHONE, DESK):
        show(browser, tmp_path / "r.html", width)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script(CLIPPED) == []
        if not form:  # longer names are turned
            assert browser.execute_script(OVERLAPS) == []


def test_columns_that_moved_are_named(tmp_path):
    model = reported(2)
    model.columns.watch(np.full((20_000, 3), [5.0, 0.0, 0.0]))
    write_report(model, tmp_path / "r.html")
    assert "Column a has moved" in (tmp_path / "r.html").read_text()


def test_fourier_features_keep_no_rows_to_draw(tmp_path):
    write_report(reported(2, ("a", "b"), feature_map="fourier", gamma=0.5), tmp_path / "r.html")
    assert "Decision regions" not in (tmp_path / "r.html").read_text()


def test_nothing_to_report(tmp_path):
    model = reported(2)
    model.run = None
    with pytest.raises(DataError, match="no stream to report on"):
        write_report(model, tmp_path / "r.html")
    assert not list(tmp_path.iterdir())
