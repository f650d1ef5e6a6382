"""What a stream says of its memory."""

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.evaluate import chunked, prequential
from helpers import clouds, stream


def test_memory_report():
    X, y = clouds(600, spread=2.0)
    model = FBTWSVM(gamma=0.1, n_components=30, warm_up=100, memory=15, second_look=5)
    stream(model, X, y, 60, ids=np.arange(600)).settle()
    report = model.memory_report()
    member = model_of(model).members[0]
    assert report.seen == 600
    assert sum(report.forgotten.values()) + len(report.rows["id"]) == 600
    assert report.bytes["Gram matrices"] >= 3 * 31 * 31 * 8
    assert (report.rows["membership"] <= 1.0 + 1e-9).all()
    support = ~report.rows["second_look"]
    assert support.sum() <= 45
    assert (report.rows["label"][report.rows["id"] == member.kept.ids[0]] == y[member.kept.ids[0]]).all()
    frame = report.to_frame()
    assert len(frame) == len(report.rows["id"])
    assert "600 rows learned" in str(report)
    assert "MiB  in all" in str(report)


def test_memory_report_at_every_stage():
    X, y = clouds(300)
    fitted = FBTWSVM(gamma=0.1).fit(X, y, ids=range(300)).memory_report()
    assert (fitted.seen, len(fitted.rows["id"]), sum(fitted.forgotten.values())) == (300, 300, 0)
    assert fitted.rows["label"].tolist() == y.tolist()
    assert fitted.total_bytes >= X.nbytes
    waiting = FBTWSVM(warm_up=400).partial_fit(X, y).memory_report()
    assert (waiting.seen, len(waiting.to_frame())) == (300, 300)
    X, y = clouds(4000)
    large = FBTWSVM(gamma=0.1, n_components=5, feature_map="fourier", memory=20).fit(np.tile(X, 5), y)
    sums = large.memory_report()
    assert model_of(large).sums is not None
    assert sums.seen == len(sums.rows["id"]) + sum(sums.forgotten.values()) == 4000
    assert "4000 rows learned" in str(sums)


@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_bytes_of_state_do_not_grow(decay):
    X, y = clouds(6000, 3, spread=2.0)
    model = FBTWSVM(gamma=0.1, n_components=20, warm_up=100, memory=20, second_look=20, decay=decay, random_state=0)
    run = prequential(model, chunked(X, y, 1000), every=1000).run()
    sizes = [snapshot.bytes for snapshot in run.snapshots]
    assert max(sizes[1:]) < 1.05 * min(sizes[1:])
