"""Export to ONNX: the map, the planes and the decision as a graph of standard operators (needs onnx).

The graph works in the precision of the model.  For each pair a < b it computes both plane values and the margin

    m_ab = slope (log max(|h.u_ab|, floor) - log max(|h.u_ba|, floor) - offset)

and from the margins the winner of the DAG or the vote, and the scores of `decision_function`.  The last, linear step of
the feature map is multiplied into the planes where this is cheaper.
"""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array
from .._files import replacing
from ..classifier import FBTWSVM, model_of
from ..features.exact import ExactKernel
from ..features.fourier import FourierFeatures
from ..features.kernels import scaled
from ..features.nystroem import NystroemFeatures
from ..model._pair_loops import FLOOR, LEAST_CHANCE
from ..model.decision import PairRule
from ..model.standard_columns import StandardColumns
from ..online._committee_loops import SMALL
from ..online.committee import CommitteeRule

if TYPE_CHECKING:
    from ..data.columns import Columns
    from ..data.table_classifier import TableClassifier
    from ..data.table_model import TableModel

__all__ = ["export_onnx"]

_OPSET, _IR = 17, 8  # versions that all recent runtimes can read


def export_onnx(model: FBTWSVM | TableClassifier | TableModel, path: str | os.PathLike[str]) -> None:
    """Export a model to an ONNX file with the input ``X`` and the outputs ``label`` and ``scores``.

    Parameters
    ----------
    model : FBTWSVM, TableClassifier or TableModel
        A fitted model with the kernel rbf, laplacian or linear, or with Fourier features.  The graph of a table
        includes the scaling: ``X`` is then float64 with the encoded columns, whose names are in the metadata.
    path : path-like
        Path of the file.

    Raises
    ------
    ValueError
        If standard operators cannot compute the map, or the model is a pipeline.
    """
    estimator, columns = (model, None) if isinstance(model, FBTWSVM) else _of_table(model)
    try:
        import onnx
    except ImportError as error:
        raise ValueError("Exporting needs onnx: pip install 'fbtwsvm[onnx]'.") from error
    proto = _model(estimator, columns)
    onnx.checker.check_model(proto)
    with replacing(path) as file:
        file.write(proto.SerializeToString())


def _of_table(model: Any) -> tuple[FBTWSVM, Columns]:
    """Return classifier and columns of a model of tables; without pyarrow there are no such models."""
    if find_spec("pyarrow"):
        from ..data.table_classifier import TableClassifier, finished
        from ..data.table_model import TableModel

        if isinstance(model, TableClassifier):
            columns, estimator, _ = finished(model)
            return estimator, columns
        if isinstance(model, TableModel):
            return model.estimator, model.columns
    raise ValueError(
        f"A {type(model).__name__} has no export to ONNX: give an FBTWSVM, a TableClassifier or a TableModel. Of a "
        "pipeline, export the last step (pipeline[-1]) and apply the other steps before it, or use TableClassifier, "
        "whose scaling is exported with it."
    )


class _Graph:
    """The nodes and constants of a graph."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, dtype: Any) -> str:
        """Add a constant, and return its name."""
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def integers(self, value: Any) -> str:
        """Add a constant of integers, and return its name."""
        return self.constant(value, np.int64)

    def add(self, operator: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Add a node, and return the name of its result; inputs are names, or numbers that become constants."""
        from onnx import helper

        names = [value if isinstance(value, str) else self.constant(value, self.dtype) for value in inputs]
        name = output or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, names, [name], **attributes))
        return name


def _model(estimator: FBTWSVM, columns: Columns | None) -> Any:
    from onnx import TensorProto, helper

    dtype = model_of(estimator).mapping.dtype
    graph, real = _Graph(dtype), TensorProto.DOUBLE if dtype == np.float64 else TensorProto.FLOAT
    rows, given = "X", real
    if columns is not None:  # scaled in float64, as the model does: raw columns may be large
        shifted = graph.add("Sub", rows, graph.constant(columns.shift, np.float64))
        scaled = graph.add("Div", shifted, graph.constant(columns.scale, np.float64))
        rows, given = graph.add("Cast", scaled, to=real), TensorProto.DOUBLE
    winners, scores = _decide(graph, estimator, _Planes(graph, estimator, rows))
    _label(graph, model_of(estimator).classes, winners)
    graph.add("Identity", scores, output="scores")
    kinds = {"U": TensorProto.STRING, "O": TensorProto.STRING, "f": TensorProto.DOUBLE, "b": TensorProto.BOOL}
    label_kind = kinds.get(model_of(estimator).classes.dtype.kind, TensorProto.INT64)
    n_classes = len(model_of(estimator).classes)
    tensor = helper.make_tensor_value_info
    inputs = [tensor("X", given, ["rows", estimator.n_features_in_])]
    outputs = [
        tensor("label", label_kind, ["rows"]),
        tensor("scores", real, ["rows"] if n_classes == 2 else ["rows", n_classes]),
    ]
    proto = helper.make_model(
        helper.make_graph(graph.nodes, "fbtwsvm", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
        producer_name="fbtwsvm",
    )
    helper.set_model_props(proto, _metadata(estimator, columns))
    return proto


def _metadata(estimator: FBTWSVM, columns: Columns | None) -> dict[str, str]:
    """Return what a caller needs, in JSON: the columns of X, the classes of the scores, the encoding."""
    facts: dict[str, Any] = {"classes": model_of(estimator).classes.tolist()}
    if columns is None:
        numbered = [f"x{j}" for j in range(estimator.n_features_in_)]
        facts["columns"] = list(getattr(estimator, "feature_names_in_", numbered))
    else:
        facts |= {"columns": columns.names, "encode": columns.choices.encode, "impute": columns.choices.impute}
        facts["source_columns"] = [
            {
                "name": c.name,
                "categories": c.categories,
                "later": list(c.later),
                "dates": c.dates,
                "fill": c.fill if c.categories is None else c.most_frequent,
            }
            for c in columns.columns
        ]
    return {name: json.dumps(value) for name, value in facts.items()}


class _Planes:
    """The feature map in the graph, and the values of planes on it."""

    def __init__(self, graph: _Graph, estimator: FBTWSVM, rows: str) -> None:
        self.graph, self.mapping = graph, model_of(estimator).mapping
        transformer = self.mapping.transformer
        self.after: Array | None = None  # matrix by which the features are still to be multiplied
        if transformer is None:
            self.features = rows
        elif isinstance(transformer, FourierFeatures):
            self.features = self._fourier(transformer, rows)
        elif isinstance(transformer, NystroemFeatures):
            self.features = self._similarities(transformer, transformer.landmarks_, rows)
            self.after = transformer.normalisation_.astype(np.float64)
        elif isinstance(transformer, ExactKernel):
            self.features = self._similarities(transformer, transformer.rows_, rows)
        else:
            raise ValueError(f"The map {type(transformer).__name__} has no export to ONNX.")
        self.columns = None if self.mapping.columns is None else self._standardised(self.mapping.columns, rows)

    def _standardised(self, columns: StandardColumns, rows: str) -> str:
        """Add the standardised columns beside the features of the map."""
        graph = self.graph
        moved = graph.add("Mul", graph.add("Sub", rows, columns.centre), columns.factor)
        return graph.add("Max", graph.add("Min", moved, columns.most), -columns.most)

    def values(self, planes: Array) -> str:
        """Add the values of planes of shape (n, D), whose last weight is the bias."""
        graph, n_plain = self.graph, self.mapping.n_plain
        every, bias = planes[:, :-1].astype(np.float64).T, planes[:, -1]
        if self.columns is not None:
            n_features = len(every) - n_plain
            if not every[:n_features].any():  # a linear member
                return graph.add("Add", graph.add("MatMul", self.columns, every[n_features:]), bias)
            every = every[:n_features]  # all others use the features only
        weights, features = every * self.mapping.scale, self.features
        if self.after is not None:
            if weights.shape[1] <= weights.shape[0]:  # fewer planes than features
                weights = self.after @ weights
            else:
                features = graph.add("MatMul", features, self.after)
        product = graph.add("MatMul", features, weights)
        return graph.add("Add", product, bias)

    def _fourier(self, transformer: FourierFeatures, rows: str) -> str:
        graph = self.graph
        if transformer.kernel == "skewed_intersection":
            rows = graph.add("Log", graph.add("Add", rows, 1.0))
        waves = graph.add("MatMul", rows, transformer.frequencies_)
        cosines = graph.add("Cos", graph.add("Add", waves, transformer.phases_))
        return graph.add("Mul", cosines, np.sqrt(2.0 / transformer.n_components))

    def _similarities(self, transformer: Any, anchors: Any, rows: str) -> str:
        """Add k(x, anchors), in the metric of the map."""
        graph = self.graph
        dense = scaled(anchors.toarray() if hasattr(anchors, "toarray") else anchors, transformer.metric_)
        if transformer.metric_ is not None:
            rows = graph.add("Mul", rows, transformer.metric_)
        if transformer.kernel == "linear":
            return graph.add("MatMul", rows, dense.T)
        if transformer.kernel == "rbf":
            # -gamma ||x - l||^2 = 2 gamma x.l - gamma ||x||^2 - gamma ||l||^2, never above zero
            gamma, precise = transformer.gamma_, dense.astype(np.float64)
            cross = graph.add("MatMul", rows, 2.0 * gamma * precise.T)
            squares = graph.add("ReduceSumSquare", rows, axes=[1], keepdims=1)
            own = graph.add("Mul", squares, gamma)
            far = graph.add("Sub", cross, graph.add("Add", own, gamma * np.square(precise).sum(axis=1)))
            return graph.add("Exp", graph.add("Min", far, 0.0))
        if transformer.kernel == "laplacian":
            apart = graph.add("Sub", graph.add("Unsqueeze", rows, graph.integers([1])), dense[None])
            far = graph.add("ReduceSum", graph.add("Abs", apart), graph.integers([2]), keepdims=0)
            return graph.add("Exp", graph.add("Mul", far, -transformer.gamma_))
        raise ValueError(f"kernel={transformer.kernel!r} has no export to ONNX; rbf, laplacian and linear have.")


def _decide(graph: _Graph, estimator: FBTWSVM, planes: _Planes) -> tuple[str, str]:
    """Add the decision, and return the names of the winners (class indices) and of the scores."""
    rule, n_classes = model_of(estimator).answers.rule, len(model_of(estimator).classes)
    if n_classes == 1:
        none = planes.values(model_of(estimator).planes[0])
        zero = graph.add("Mul", none, 0.0)
        return graph.add("ArgMax", zero, axis=1, keepdims=0), zero
    if isinstance(rule, CommitteeRule):
        return _committee(graph, rule, planes, n_classes)
    assert isinstance(rule, PairRule)
    decision = rule.decision
    margins = _margins(graph, planes, rule.planes, decision.offsets, decision.slopes)
    if n_classes == 2:
        margin = graph.add("Squeeze", margins, graph.integers([1]))
        second = graph.add("Greater", margin, 0.0)
        return graph.add("Cast", second, to=7), margin
    votes = _votes(graph, margins, n_classes)
    if decision.multiclass == "vote":
        return graph.add("ArgMax", votes, axis=1, keepdims=0), votes
    winners = _walk(graph, margins, n_classes)
    return winners, _winner_first(graph, votes, winners, n_classes)


def _margins(graph: _Graph, planes: _Planes, weights: Array, offsets: Array, slopes: Array) -> str:
    """Add the margins of all pairs a < b, (n, pairs): positive where b wins."""
    first, second = np.triu_indices(len(weights), 1)
    logs = []
    for these in (weights[first, second], weights[second, first]):
        floored = graph.add("Max", graph.add("Abs", planes.values(these)), FLOOR)
        logs.append(graph.add("Log", floored))
    apart = graph.add("Sub", graph.add("Sub", *logs), offsets[first, second])
    return graph.add("Mul", apart, slopes[first, second])


def _incidence(n_classes: int) -> tuple[Array, Array]:
    """Return matrices (pairs, classes) that select the first and the second class of each pair."""
    first, second = np.triu_indices(n_classes, 1)
    return np.eye(n_classes)[first], np.eye(n_classes)[second]


def _votes(graph: _Graph, margins: str, n_classes: int) -> str:
    """Add the number of pairs that each class wins, and as less than a third of a vote by how much."""
    first, second = _incidence(n_classes)
    seconds = graph.add("Greater", margins, 0.0)
    won = graph.add("Cast", seconds, to=11 if graph.dtype == np.float64 else 1)
    # a pair is won by the second class, or else by the first: first + won (second - first)
    moved = graph.add("MatMul", won, second - first)
    votes = graph.add("Add", moved, first.sum(axis=0))
    total = graph.add("MatMul", margins, second - first)
    size = graph.add("Mul", graph.add("Add", graph.add("Abs", total), 1.0), 3.0)
    return graph.add("Add", votes, graph.add("Div", total, size))


def _walk(graph: _Graph, margins: str, n_classes: int) -> str:
    """Add the DAG, in which each class challenges the winner so far."""
    place = {pair: k for k, pair in enumerate(combinations(range(n_classes), 2))}
    king = graph.add("Mul", graph.add("ArgMax", margins, axis=1, keepdims=1), graph.integers(0))
    for challenger in range(1, n_classes):
        pairs = graph.integers([place[holder, challenger] for holder in range(challenger)])
        margin = graph.add("GatherElements", margins, graph.add("Gather", pairs, king), axis=1)
        wins = graph.add("Greater", margin, 0.0)
        king = graph.add("Where", wins, graph.integers([[challenger]]), king)
    return graph.add("Squeeze", king, graph.integers([1]))


def _winner_first(graph: _Graph, votes: str, winners: str, n_classes: int) -> str:
    """Give the winner the largest score, in exchange for its own."""
    top = graph.add("ArgMax", votes, axis=1, keepdims=1)
    won = graph.add("Unsqueeze", winners, graph.integers([1]))
    best = graph.add("GatherElements", votes, top, axis=1)
    own = graph.add("GatherElements", votes, won, axis=1)
    lowered = graph.add("ScatterElements", votes, top, own, axis=1)
    return graph.add("ScatterElements", lowered, won, best, axis=1)


def _committee(graph: _Graph, rule: CommitteeRule, planes: _Planes, n_classes: int) -> tuple[str, str]:
    """Add the log-probabilities of the committee: the mean of both ways to combine its members."""
    likelihood, success = None, None
    for e, weights in zip(rule.active, rule.members(), strict=True):
        chances = _log_probabilities(graph, planes, weights, rule.decision, n_classes)
        by_success, by_likelihood = (float(weight) if weight > SMALL else 0.0 for weight in rule.weights[:, e])
        mean = graph.add("Mul", graph.add("Exp", chances), by_success)
        power = graph.add("Mul", chances, by_likelihood)
        success = mean if success is None else graph.add("Add", success, mean)
        likelihood = power if likelihood is None else graph.add("Add", likelihood, power)
    assert success is not None
    whole = graph.add("ReduceSum", success, graph.integers([1]), keepdims=1)
    ways = rule.weights[:, -1] / rule.weights[:, -1].sum()
    parts = (graph.add("Div", success, whole), graph.add("Softmax", likelihood, axis=1))
    first, second = (graph.add("Mul", part, float(way)) for part, way in zip(parts, ways, strict=True))
    total = graph.add("Log", graph.add("Add", first, second))
    winners = graph.add("ArgMax", total, axis=1, keepdims=0)
    if n_classes > 2:
        return winners, total
    signs = np.array([[-1.0], [1.0]])
    return winners, graph.add("Squeeze", graph.add("MatMul", total, signs), graph.integers([1]))


def _log_probabilities(graph: _Graph, planes: _Planes, weights: Array, decision: Any, n_classes: int) -> str:
    """Add log p_k with p_k proportional to 1 / sum_j exp(m_kj)."""
    first, second = _incidence(n_classes)
    margins = _margins(graph, planes, weights, decision.learned_offsets, decision.slopes)
    over = []
    for signed, picks in ((margins, first), (graph.add("Neg", margins), second)):
        grown = graph.add("Exp", graph.add("Min", signed, 50.0))
        over.append(graph.add("MatMul", grown, picks))
    sums = graph.add("Add", graph.add("Add", *over), 1.0)
    logs = graph.add("LogSoftmax", graph.add("Neg", graph.add("Log", sums)), axis=1)
    return graph.add("Max", logs, LEAST_CHANCE)


def _label(graph: _Graph, classes: Array, winners: str) -> None:
    """Add the labels of the winners."""
    if classes.dtype.kind in "UO":
        names = graph.constant(np.array([str(label) for label in classes], dtype=object), object)
    else:
        wide = {"f": np.float64, "b": np.bool_}.get(classes.dtype.kind, np.int64)
        names = graph.constant(classes, wide)
    graph.add("Gather", names, winners, output="label")
