"""Pictures show what they claim to show."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fbtwsvm import FBTWSVM, FBTWSVMCV
from fbtwsvm.evaluate import plot

X, Y = make_moons(120, noise=0.2, random_state=0)


def test_decision_regions_colours_follow_predict():
    model = FBTWSVM().fit(X, Y)
    ax = plot.decision_regions(model, X, Y, resolution=40)
    image = ax.images[0].get_array()
    left, right, bottom, top = ax.images[0].get_extent()
    grid = np.column_stack([p.ravel() for p in np.meshgrid(np.linspace(left, right, 40), np.linspace(bottom, top, 40))])
    blue_wins = (image[..., 2] > image[..., 0]).ravel()  # class 0 is blue, class 1 orange
    assert np.array_equal(blue_wins, model.predict(grid) == 0)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["class 0", "class 1"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "x2")


def test_planes_marks_supports_and_memberships():
    model = FBTWSVM().fit(X, Y)
    ax = plot.planes(model, X, Y, resolution=40)
    points = [c for c in ax.collections if len(c.get_offsets()) in ((Y == 0).sum(), (Y == 1).sum())]
    assert len(points) == 2
    for k, cloud in enumerate(points):
        rows = k == Y
        assert np.allclose(cloud.get_offsets(), X[rows])
        assert np.allclose(cloud.get_sizes(), 6 + 44 * model.memberships_[rows, 1 - k])
        black = (cloud.get_edgecolors()[:, :3] == 0).all(axis=1)
        assert np.array_equal(np.flatnonzero(rows)[black], model.support_[rows[model.support_]])


def test_bad_pictures():
    model = FBTWSVM().fit(X, Y)
    with pytest.raises(ValueError, match="two columns"):
        plot.decision_regions(model, np.ones((4, 3)))
    with pytest.raises(ValueError, match="fitted on 120 rows"):
        plot.planes(model, X[:50], Y[:50])
    with pytest.raises(ValueError, match="two of the classes"):
        plot.planes(model, X, Y, pair=(0, 7))
    with pytest.raises(ValueError, match="y has 3"):
        plot.decision_regions(model, X, Y[:3])
    with pytest.raises(TypeError, match="last step"):
        plot.planes(make_pipeline(StandardScaler(), FBTWSVM()).fit(X, Y), X, Y)


def test_frames_and_other_classifiers(recwarn):
    frame = pd.DataFrame(X, columns=["height", "width"])
    model = FBTWSVM().fit(frame, Y)
    for ax in (plot.decision_regions(model, frame, Y, resolution=20), plot.planes(model, frame, Y, resolution=20)):
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "width")
    plot.decision_regions(SVC().fit(X, Y), X, Y, resolution=20)
    assert not [w for w in recwarn if "feature names" in str(w.message)]


@pytest.mark.parametrize("separate", [False, True])
def test_a_search_is_shown_with_its_best_where_it_is(separate):
    tuned = FBTWSVMCV(gamma=[0.1, 1.0, 10.0], C=[0.5, 4.0], reg=[0.01, 0.1], membership=None, separate=separate)
    left, right = plot.search(tuned.fit(X, Y))
    shown = np.concatenate([points.get_offsets() for points in left.collections])
    assert len(shown) == len(tuned.cv_results_["params"])
    assert shown[:, 1].max() == pytest.approx(tuned.cv_results_["mean_test_score"].max())
    image = right.images[0].get_array()
    assert image.shape == (2, 2)
    assert image.max() == pytest.approx(tuned.best_score_)
    ridge, price = np.unravel_index(image.argmax(), image.shape)
    if not separate:
        assert [0.5, 4.0][price] == tuned.best_params_["C"] or image.min() == image.max()
        assert right.get_yticklabels()[ridge].get_text() in ("0.01", "0.1")
