"""The report: one page that stands alone, readable on a telephone and on paper, looked at in a real browser."""

import base64
import os
import re
import shutil

import numpy as np
import pyarrow as pa
import pytest

from command import called
from fbtwsvm import FBTWSVM
from fbtwsvm.data.columns import Choices
from fbtwsvm.data.sources import DataError
from fbtwsvm.data.table_model import Run, TableModel
from fbtwsvm.evaluate import Prequential
from fbtwsvm.report import write_report

PHONE, PAPER, DESK = 390, 718, 1280
TITLES = ["Accuracy, tested before learned", "Speed", "Memory", "Class balance", "Confusion", "Decision regions"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return the path of a report on two columns with drift."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    source = "generate:rbf?rows=6000&features=2&classes=3&centroids=6&spread=0.2&drift_every=2000&seed=1"
    called("stream", source, "-t", "y", "--decay", "auto", "--n-components", 50, "--warm-up", 200, "--report", path)
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
    wanted = [("rows", "accuracy"), ("rows", "rows a second"), ("rows", "rows"), ("rows", "share of the last rows")]
    for texts, names in zip(words, [*wanted, ("answer", "true class"), ("x0", "x1")], strict=True):
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


def reported(n_classes, columns=("a", "b", "c"), rows=900, **parameters):
    """Learn a small stream with the record that a report needs."""
    random = np.random.default_rng(0)
    labels = random.integers(n_classes, size=rows)
    table = {name: random.normal(size=rows) + labels % 3 for name in columns}
    table = pa.table({**table, "y": [f"<class & {label}>" for label in labels]})
    model = TableModel.begin(table, Choices("y"), FBTWSVM(n_components=20, warm_up=100, random_state=0, **parameters))
    record = Prequential(model.estimator, (), 200, 50, None, False, 400)
    model.run = Run("here", "a <source> & more", "", rows, 100, record)
    for first in range(0, rows, 100):
        model.learn(table.slice(first, 100), step=record.step)
    record.finish()
    return model


@pytest.mark.parametrize("n_classes", [1, 2, 12, 40])
def test_any_number_of_classes(n_classes, tmp_path):
    model = reported(n_classes)
    for suffix in (".html", ".png"):
        write_report(model, tmp_path / f"r{suffix}")
    text = (tmp_path / "r.html").read_text()
    assert "a &lt;source&gt; &amp; more" in text
    assert "<source>" not in text
    assert (tmp_path / "r.png").read_bytes()[:4] == b"\x89PNG"


def test_many_classes_in_a_browser(browser, tmp_path):
    write_report(reported(40), tmp_path / "r.html")
    show(browser, tmp_path / "r.html", PHONE)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE
    assert browser.execute_script(CLIPPED) == []


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
