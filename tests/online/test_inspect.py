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
    with pytest.raises(ValueError, match="partial_fit"):
        FBTWSVM(gamma=0.1).fit(X, y).memory_report()
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


@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_bytes_of_state_do_not_grow(decay):
    X, y = clouds(6000, 3, spread=2.0)
    model = FBTWSVM(gamma=0.1, n_components=20, warm_up=100, memory=20, second_look=20, decay=decay, random_state=0)
    run = prequential(model, chunked(X, y, 1000), every=1000).run()
    sizes = [snapshot.bytes for snapshot in run.snapshots]
    assert max(sizes[1:]) < 1.05 * min(sizes[1:])
