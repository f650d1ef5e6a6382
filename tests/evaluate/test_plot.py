"""Pictures show what they claim to show."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from fbtwsvm import FBTWSVM, FBTWSVMCV
from fbtwsvm.evaluate import plot
from fbtwsvm.evaluate._drawing import class_colours
from fbtwsvm.evaluate._search_plot import format_number

X, Y = make_moons(120, noise=0.2, random_state=0)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("with_rows", [True, False])
def test_the_legend_has_the_labels_as_given_in_the_colours_of_rows_and_regions(with_rows):
    labels = np.array(["<b>", "a label that is much too long for a legend, no. 7"])[Y]
    model = FBTWSVM().fit(X, labels)
    ax = plot.decision_regions(model, X, labels if with_rows else None, resolution=40)
    assert ax.get_legend().get_title().get_text() == "class"
    assert legend(ax) == ["<b>", "a label that is muc…o. 7"]
    image = ax.images[0].get_array()
    for handle, cloud, label in zip(ax.get_legend().legend_handles, ax.collections, model.classes_, strict=True):
        colour = handle.get_facecolor()[0, :3]
        assert np.array_equal(colour, cloud.get_facecolor()[0, :3])
        left, right, bottom, top = ax.images[0].get_extent()
        grid = [p.ravel() for p in np.meshgrid(np.linspace(left, right, 40), np.linspace(bottom, top, 40))]
        own = image.reshape(-1, 3)[model.predict(np.column_stack(grid)) == label]
        tint, share = 1 - own, 1 - colour  # a region is the colour of its class, more or less strong
        assert np.allclose(tint / tint.max(axis=1, keepdims=True), share / share.max())
        assert len(cloud.get_offsets()) == (labels == label).sum() * with_rows


@pytest.mark.parametrize("layout", ["none given", None, "constrained", "tight"])
@pytest.mark.parametrize("draw", [plot.decision_regions, plot.planes])
def test_title_and_legend_lie_inside_the_picture(draw, layout):
    ax = None if layout == "none given" else pyplot.subplots(1, 2, figsize=(10, 4.5), layout=layout)[1][0]
    labels = np.array(["a class with a long name", "one that is hardly shorter"])[Y]
    ax = draw(FBTWSVM().fit(X, labels), X, labels, ax=ax, resolution=40)
    ax.figure.canvas.draw()
    page = ax.figure.bbox
    for part in (*([ax.title] if ax.get_title() else []), ax.get_legend()):
        drawn = part.get_window_extent()
        assert page.x0 <= drawn.x0 <= drawn.x1 <= page.x1
        assert page.y0 <= drawn.y0 <= drawn.y1 <= page.y1
    if layout is None:
        assert ax.bbox.y0 <= drawn.y0
    else:  # no row is hidden
        assert drawn.y1 <= ax.bbox.y0


def test_a_legend_of_many_classes_names_the_largest():
    many, labels = make_blobs(600, centers=40, random_state=0)
    keep = (labels % 3 > 0) | (np.arange(600) % 4 == 0)  # classes 0, 3, 6 ... have fewer rows
    many, labels = many[keep], labels[keep]
    names = legend(plot.decision_regions(FBTWSVM().fit(many, labels), many, labels, resolution=20))
    assert names[-1] == "and 28 more"
    assert len(names) == 13
    assert names[:-1] == sorted(names[:-1], key=int)
    assert sum(int(name) % 3 > 0 for name in names[:-1]) >= 10


def test_thirteen_classes_are_all_named():
    many, labels = make_blobs(130, centers=13, random_state=0)
    ax = plot.decision_regions(FBTWSVM().fit(many, labels), many, resolution=10)
    assert legend(ax) == list(map(str, range(13)))


def seen_by(colours, vision):
    """Return colours in CIELAB, as people with a kind of colour blindness see them (Machado et al., 2009)."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.array(vision).T, 0.0, 1.0)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = linear @ to_xyz.T / [0.9505, 1.0, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116).T
    return np.column_stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize(
    "vision",
    [
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ],
    ids=["without red", "without green", "without blue"],
)
def test_ten_classes_can_be_told_apart_without_full_colour_vision(vision):
    lab = seen_by(class_colours(10), vision)
    apart = np.linalg.norm(lab[:, None] - lab, axis=2)
    assert apart[np.triu_indices(10, 1)].min() > 15  # about 2 is where people begin to see a difference


def test_no_two_of_many_classes_have_one_colour():
    assert len({tuple(colour) for colour in class_colours(40).round(3).tolist()}) == 40


def test_one_class_has_one_region():
    model = FBTWSVM(warm_up=10).partial_fit(X, np.full(len(X), "only"))
    ax = plot.decision_regions(model, X, np.full(len(X), "only"), resolution=10)
    image = ax.images[0].get_array()
    assert np.isfinite(image).all()
    assert (image == image[0, 0]).all()
    assert legend(ax) == ["only"]


def test_rows_of_a_class_that_the_model_does_not_know_are_marked():
    labels = Y.copy()
    labels[:7] = 5
    ax = plot.decision_regions(FBTWSVM().fit(X, Y), X, labels, resolution=10)
    assert legend(ax) == ["0", "1", "not a class of the model"]
    assert np.array_equal(ax.collections[-1].get_offsets(), X[:7])


def test_labels_are_not_read_as_formulas_or_hidden():
    labels = np.array(["_$a$", "red\x1b[31m\n"])[Y]
    model = FBTWSVM().fit(X, labels)
    ax = plot.decision_regions(model, X, labels, resolution=10)
    ax.figure.canvas.draw()
    assert [name.replace("\u200b", "").replace("\\$", "$") for name in legend(ax)] == ["_$a$", r"red\x1b[31m\n"]
    assert len(ax.get_legend().legend_handles) == 2


def test_the_legend_of_planes_names_rows_and_planes_of_both_classes():
    labels = np.array(["ant", "bee"])[Y]
    ax = plot.planes(FBTWSVM().fit(X, labels), X, labels, resolution=20)
    of_class = [[f"class {name}", f"plane near {name}", "its value is -1"] for name in ("ant", "bee")]
    assert legend(ax) == [*of_class[0], *of_class[1], "support point", "size: membership"]
    handles = ax.get_legend().legend_handles
    clouds = [c for c in ax.collections if len(c.get_offsets()) == (Y == 0).sum()]
    for k, cloud in enumerate(clouds):
        colour = cloud.get_facecolor()[0, :3]
        assert np.array_equal(handles[3 * k].get_facecolor()[0, :3], colour)
        assert np.allclose(handles[3 * k + 1].get_color(), 0.75 * colour)


def test_decision_regions_colours_follow_predict():
    model = FBTWSVM().fit(X, Y)
    ax = plot.decision_regions(model, X, Y, resolution=40)
    image = ax.images[0].get_array()
    left, right, bottom, top = ax.images[0].get_extent()
    grid = np.column_stack([p.ravel() for p in np.meshgrid(np.linspace(left, right, 40), np.linspace(bottom, top, 40))])
    blue_wins = (image[..., 2] > image[..., 0]).ravel()  # class 0 is blue, class 1 orange
    assert np.array_equal(blue_wins, model.predict(grid) == 0)
    assert legend(ax) == ["0", "1"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x1")


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
    assert len(shown) == len(tuned.cv_results_["params"]) + 1  # the star of the best
    assert shown[:, 1].max() == pytest.approx(tuned.cv_results_["mean_test_score"].max())
    image = right.images[0].get_array()
    assert image.shape == (2, 2)
    assert image.max() == pytest.approx(tuned.best_score_)
    ridge, price = np.unravel_index(image.argmax(), image.shape)
    if not separate:
        assert [0.5, 4.0][price] == tuned.best_params_["C"] or image.min() == image.max()
        assert right.get_yticklabels()[ridge].get_text() in ("0.01", "0.1")


def ticks_in_view(axis):
    axis.axes.figure.draw_without_rendering()
    low, high = sorted(axis.get_view_interval())
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return [tick.label1 for tick in ticks if tick.label1.get_text() and low <= tick.get_loc() <= high]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.25"), (0.0316227766, "0.0316"), (64.0, "64"), (1024.0, "1,024"), (2.0**-12, "$2^{-12}$"),
        (1e-5, "$10^{-5}$"), (2.0**20, "$2^{20}$"), (1e6, "$10^{6}$"), (3.2e-7, r"$3.2 \times 10^{-7}$"),
    ],
)  # fmt: skip
def test_numbers_on_the_axes_of_a_search(value, text):
    assert format_number(value) == text


def found(best, **tried):
    """Return a search as it looks when it has found the best at given values."""
    tuned = FBTWSVMCV(**tried, membership=None)
    tuned.cv_results_ = {"params": [dict(zip(tried, values, strict=True)) for values in product(*tried.values())]}
    count = len(tuned.cv_results_["params"])
    tuned.best_index_ = tuned.cv_results_["params"].index(dict(zip(tried, best, strict=True)))
    scores = np.full(count, 0.5)
    scores[tuned.best_index_] = 0.9
    tuned.cv_results_ |= {"mean_test_score": scores, "stopped": np.zeros(count, dtype=bool)}
    tuned.best_params_, tuned.best_score_ = tuned.cv_results_["params"][tuned.best_index_], 0.9
    return tuned


GRIDS = {
    "around auto": {"gamma": [0.103 * 2.0**k for k in range(5)], "C": [0.25, 1.0, 4.0], "reg": [0.001, 0.00316, 0.01]},
    "powers of two": {"gamma": [0.5, 1.0], "C": [2.0**k for k in range(-10, 12)], "reg": [0.01, 0.1]},
    "powers of ten": {"gamma": [10.0**k for k in range(-5, 3)], "C": [1.0], "reg": [10.0**-k for k in range(7)]},
    "nearly equal": {"gamma": [0.5, 0.51, 5.0], "C": [1.0, 2.0], "reg": [0.01]},
    "many in one decade": {"gamma": np.linspace(1.0, 9.0, 40).tolist(), "C": [1.0, 2.0], "reg": [0.01]},
}


@pytest.mark.parametrize("name", [*GRIDS, "tpe"])
def test_ticks_of_a_search_can_be_read(name):
    if name == "tpe":
        tuned = FBTWSVMCV(search="tpe", n_iter=20, membership=None, cv=2, random_state=0).fit(X[:60], Y[:60])
    else:
        tuned = found([values[0] for values in GRIDS[name].values()], **GRIDS[name])
    for ax in plot.figure_of_search(tuned).axes[:2]:
        for axis in (ax.xaxis, ax.yaxis):
            names = ticks_in_view(axis)
            assert 1 <= len(names) <= 9
            for one, other in combinations([name.get_window_extent() for name in names], 2):
                assert not one.overlaps(other)


GRID = {"gamma": [0.1, 1.0, 10.0], "C": [0.5, 4.0, 16.0], "reg": [0.01, 0.1, 1.0]}


@pytest.mark.parametrize(
    ("best", "left", "right"),
    [
        ((1.0, 4.0, 0.1), "", ""),
        ((0.1, 4.0, 0.1), "the best gamma lies on the edge of the grid:\ngive FBTWSVMCV more values", ""),
        ((1.0, 16.0, 0.1), "", "the best C lies on the edge of the grid:\ngive FBTWSVMCV more values"),
        ((1.0, 0.5, 1.0), "", "the best C and reg lie on the edge of the grid:\ngive FBTWSVMCV more values"),
    ],
)
def test_a_search_says_when_its_best_lies_on_the_edge(best, left, right):
    axes = plot.search(found(best, **GRID))
    assert axes[0].get_title() == left
    assert axes[1].get_title() == "\n".join(["at the best of the others", *filter(None, [right])])


def test_one_value_alone_has_no_edge():
    left, right = plot.search(found((1.0, 4.0, 0.1), gamma=[1.0], C=[4.0], reg=[0.01, 0.1, 1.0]))
    assert (left.get_title(), right.get_title()) == ("", "at the best of the others")


def test_what_is_no_search_is_named():
    X, y = make_moons(60, random_state=0)
    with pytest.raises(TypeError, match=r"not Pipeline; of a pipeline, its last step: pipeline\[-1\]"):
        plot.search(make_pipeline(StandardScaler(), FBTWSVM(gamma=1.0)).fit(X, y))
    with pytest.raises(TypeError, match="not GridSearchCV"):
        plot.search(GridSearchCV(FBTWSVM(gamma=1.0), {"C": [1.0, 2.0]}, cv=2).fit(X, y))


def test_parameters_that_were_not_searched_have_no_axis():
    left, right = plot.search(found((1.0, 0.1), gamma=[0.1, 1.0, 10.0], reg=[0.1, 1.0]))
    assert (left.get_xlabel(), right.get_xlabel()) == ("gamma", "reg")
    assert right.get_title() == "the best reg lies on the edge of the grid:\ngive FBTWSVMCV more values"
    left, right = plot.search(found((4.0,), C=[0.5, 4.0, 16.0]))
    assert left.get_xlabel() == "C"
    assert not right.axison
    left, right = plot.search(FBTWSVMCV(gamma=None, C=None, reg=None).fit(X, Y))
    assert left.get_xlabel() == ""
    assert not right.axison


def test_all_candidates_of_tpe_are_shown_over_C_and_reg():
    tuned = FBTWSVMCV(search="tpe", n_iter=12, cv=2, random_state=0).fit(X[:60], Y[:60])
    right = plot.search(tuned)[1]
    assert len(right.collections[0].get_offsets()) == 12
    best = right.collections[1].get_offsets()[0]
    assert best.tolist() == [tuned.best_params_["C"], tuned.best_params_["reg"]]


def test_importances_are_bars_the_largest_on_top():
    X = np.random.default_rng(0).normal(size=(300, 25))
    model = FBTWSVM(gamma=0.05).fit(X, (X[:, 3] > 0).astype(int))
    ax = plot.importances(model, most=10)
    widths = [bar.get_width() for bar in ax.patches]
    assert len(widths) == 10
    assert widths == sorted(widths, reverse=True)
    assert ax.get_yticklabels()[0].get_text() == "x3"
    assert ax.yaxis_inverted()
    assert "importance; 15 others" in ax.get_xlabel()
    assert widths[0] == pytest.approx(model.feature_importances_.max())
    with pytest.raises(ValueError, match="most=0"):
        plot.importances(model, most=0)
    with pytest.raises(ValueError, match="25 columns, and there are 2 names"):
        plot.importances(model, ["a", "b"])


def test_importances_have_the_names_of_the_columns():
    frame = pd.DataFrame(X, columns=["height", "$width"])
    ax = plot.importances(FBTWSVM().fit(frame, Y))
    assert {label.get_text() for label in ax.get_yticklabels()} == {"height", r"\$width"}


def test_importances_of_a_pipeline_have_the_names_of_its_columns():
    frame = pd.DataFrame(X, columns=["height", "width"])
    pipeline = make_pipeline(PolynomialFeatures(include_bias=False), FBTWSVM()).fit(frame, Y)
    named = {label.get_text() for label in plot.importances(pipeline).get_yticklabels()}
    assert named == {"height", "width", "height^2", "height width", "width^2"}
    columns = make_column_transformer((StandardScaler(), ["height"]), (MinMaxScaler(), ["width"]))
    ax = plot.importances(make_pipeline(columns, FBTWSVM()).fit(frame, Y))
    named = {label.get_text() for label in ax.get_yticklabels()}
    assert named == {"height", "width"}
    for steps in ([FunctionTransformer()], [make_pipeline(FunctionTransformer())], []):
        plain = make_pipeline(*steps, FBTWSVM()).fit(X, Y)
        assert {label.get_text() for label in plot.importances(plain).get_yticklabels()} == {"x0", "x1"}


def test_cells_of_a_search_that_stopped_early_are_marked():
    tuned = found((1.0, 4.0, 0.1), gamma=[1.0], C=[1.0, 4.0], reg=[0.01, 0.1])
    tuned.cv_results_["mean_test_score"][:2] = 0.95  # of one fold: higher than the best of all folds
    tuned.cv_results_["stopped"][:2] = True
    right = plot.search(tuned)[1]
    assert right.get_title().splitlines()[0] == "at the best of the others (x: stopped early)"
    crosses, star = (points.get_offsets().tolist() for points in right.collections)
    assert crosses == [[0, 0], [0, 1]]
    assert star == [[1, 1]]
