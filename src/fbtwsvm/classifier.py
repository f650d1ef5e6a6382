"""The scikit-learn contract: parameters, validation, and one model that learns and answers.  No mathematics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import closing
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import partial
from numbers import Integral, Real
from operator import attrgetter, is_
from typing import Any, ClassVar, Self, cast

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_feature_names, _check_sample_weight, validate_data

from ._arrays import Array, as_python, tiles
from ._log import shown, warn
from ._namespace import check_device, device_of, is_foreign, like, on_device, to_numpy, zeros
from .batch.choose_kernel import given_metric
from .batch.fit import fit_rows, fits_in_memory
from .batch.hold_out import group_numbers
from .batch.model import BatchModel
from .batch.spool import Spool, are_chunks, chunks_of
from .cluster.answers import accuracy, lazy_answers
from .cluster.facts import look_at
from .cluster.fit import fit_collection
from .cluster.partitions import Partitions, is_collection
from .cluster.rows import PartitionedRows
from .device.answers import answer_on_device, answers_on_device, share_of_hits
from .device.check import check_possible, checked_labels, checked_rows, checked_weights, some_rows
from .device.fit import fit_on_device
from .device.rows import DeviceRows, arrange_on_device, sent
from .device.update import learns_on_device, update_on_device
from .features.kernels import KERNELS, Kernel, check_domain
from .model.check_values import (
    all_below,
    as_labels,
    check_first_values,
    check_kinds,
    check_labels,
    check_same_kind,
    check_spread,
    check_values,
    clear_errors,
    is_gap,
)
from .model.decision import Answers, AnswersOnly
from .model.importances import gradients, importances
from .model.inspection import Inspection
from .model.mapping import Mapping
from .model.rows import LARGE, SMALL, CheckedRows, TooFewClasses, check_class_names, row_bytes
from .model.settings import Parameters
from .model.summary import Summarised, summary
from .online.after_fit import stream_from, unlearn_from, unlearn_ids_from
from .online.inspect import MemoryReport, report
from .online.model import StreamModel
from .online.policy import policies_of
from .online.start import start_stream
from .online.unlearn import Unlearned
from .online.warm_up import WarmUpModel
from .solver.problem import SolverOptions

Model = BatchModel | WarmUpModel | StreamModel
_POSITIVE = Interval(Real, 0, None, closed="neither")
_COUNT = Interval(Integral, 1, None, closed="left")
_MOST_WITH_IDS = 64 * 2**20  # bytes of training rows with ids, which a fit keeps
_SCALED_KERNELS = ("rbf", "laplacian", "linear")  # kernels that see columns by their scale
_PREDICT_TILE = 8192  # rows mapped and decided at a time
_DEVICE_TILE = 2**20  # rows that go to a device at a time
_FLOATS = (np.float16, np.float32, np.float64)  # precisions of rows that go to a device as they are
_USUAL = 1e15  # values up to which no check of their size is needed
# Parameters that may change on a stream.
ANY_TIME = ("tol", "max_iter", "n_jobs", "verbose", "random_state", "device", "precision")
_OF_EXACT_MAP = ("kernel", "gamma", "metric")  # parameters that a fitted map depends on
_OF_MAP = (*_OF_EXACT_MAP, "feature_map", "n_components")
_IN_SUMS = ("C", "reg", "mu", "membership", "class_weight")  # parameters that the sums of a fit depend on


@dataclass(frozen=True)
class Learned:
    """All that an estimator has learned; replaced in one step.

    model       what learns and answers
    columns     number and names of the columns, by the names of their attributes
    promised    the classes that the user has named in `partial_fit`; None if any label may come
    parameters  the parameters when the model was begun
    place       an empty array of the library, and on the device, of the rows of `fit`; None for all other rows.  It is
                not part of pickles, which can be read where there is no such device.
    """

    model: Model
    columns: dict[str, Any]
    promised: Array | None
    parameters: Parameters
    place: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "place": None}

    def shown(self, values: Any) -> Any:
        """Return a public array: of NumPy, or of the library of the rows if scikit-learn's array_api_dispatch is on."""
        if self.place is None or not isinstance(values, np.ndarray) or not get_config()["array_api_dispatch"]:
            return values
        return like(values, self.place)

    def check_namespace(self, X: Any, method: str) -> None:
        """Refuse rows of another library than those of `fit`, as scikit-learn does if array_api_dispatch is on."""
        if self.place is None or not get_config()["array_api_dispatch"]:
            return
        if type(X) is not type(self.place) or device_of(X) != device_of(self.place):
            raise ValueError(
                f"Inputs passed to FBTWSVM.{method}() must use the same namespace and the same device as those passed "
                "to fit() while scikit-learn's array_api_dispatch is on: give such an array, or switch it off."
            )

    @property
    def classes(self) -> Array:
        """Labels: those learned, and those promised."""
        known = self.model.answers.classes
        return known if self.promised is None else np.union1d(self.promised, known)

    def spread(self, values: Array, axes: tuple[int, ...], fill: float = 0.0) -> Array:
        """Return values of the classes learned as values of all classes, with `fill` for those not learned yet."""
        known, every = self.model.answers.classes, self.classes
        if len(every) == len(known):
            return values
        places = np.searchsorted(every, known)
        for axis in axes:
            shape = list(values.shape)
            shape[axis] = len(every)
            wide = np.full(shape, fill, dtype=values.dtype)
            wide[(slice(None),) * axis + (places,)] = values
            values = wide
        return values


def _attribute(name: str, axes: tuple[int, ...] = ()) -> Any:
    """Return a fitted attribute: what the model has under this name; `axes` are those of classes."""

    def read(self: FBTWSVM) -> Any:
        value = getattr(self._model, name, None)
        if self._learned is None or (value is None and name != "gamma"):
            raise AttributeError(f"{type(self).__name__} has no {name}_: it is not fitted, or has none at this stage.")
        return self._learned.shown(self._learned.spread(np.asarray(value), axes) if axes else value)

    return property(read)


def noted_column(name: str) -> Any:
    """Return an attribute for the number or the names of the columns, which scikit-learn reads and writes."""

    def read(self: Any) -> Any:
        if name not in self._columns:
            raise AttributeError(f"{type(self).__name__} has no {name}.")
        return self._columns[name]

    def write(self: Any, value: Any) -> None:
        self._checked_columns = {**self._columns, name: value}

    def delete(self: Any) -> None:
        self._checked_columns = {key: value for key, value in self._columns.items() if key != name}

    return property(read, write, delete)


class FBTWSVM(ClassifierMixin, Summarised):
    """Fuzzy bounded twin support vector machine.

    For every ordered pair of classes (a, b) there is one plane that lies near the rows of a and pushes those of b away.
    A new row goes to the class whose plane is nearer.  Each plane solves::

        min_u  1/2 reg ||u||^2 + 1/2 sum_{i in a} w_i (h_i.u)^2
               + sum_{i in b} C w_i s_i max(0, 1 + h_i.u)

    where h = [z(x), 1] is the mapped row, w its weight and s its fuzzy membership.  Every plane comes with a duality
    gap, which bounds how far it is from the solution.

    The model learns all rows at once (`fit`) or chunk by chunk (`partial_fit`), and forgets rows again (`unlearn`).

    Bring columns of unequal scale to one scale first, as for every kernel method:
    ``make_pipeline(StandardScaler(), FBTWSVM())``.

    Parameters
    ----------
    kernel : {"rbf", "linear", "laplacian", "chi2", "intersection", "skewed_chi2", "skewed_intersection"} or callable, \
            default="rbf"
        Kernel function; :mod:`fbtwsvm.features.kernels` has the formulas.  A callable takes two arrays of rows and
        returns the kernel matrix.
    gamma : {"auto", "scale"} or float, default="auto"
        Parameter of the rbf and laplacian kernels: the larger it is, the faster the similarity of two rows falls with
        their distance.  "scale" is 1 / (n_features * X.var()), with X.std() for laplacian.  "auto" tries twelve values
        around that on samples of the rows, by ridge regression, and keeps the one with the best accuracy on random
        thirds that were held out.  If contiguous thirds of more than 2,000 rows are classified worse by ten points,
        neighbouring rows belong together, and these thirds decide: shuffle the rows if new ones are like them, or give
        `groups` to `fit`.  On a stream, "auto" is instead the largest value, up to four times "scale", at which
        landmarks represent the rows of the warm-up well; no labels are used.
    metric : {"auto", "columns", "none"} or array of shape (n_features,), default="auto"
        Factors of the columns in the rbf and laplacian kernels.  "columns" learns them: the columns along which a
        classifier changes fast count more, those that tell nothing count less, in up to five rounds.  "auto" does so
        where gamma is "auto" too, and takes only rounds that lower the loss of held-out rows by more than chance; it
        needs 300 distinct rows and at most 2,000 columns.  One-hot columns of one category share a factor.  "none"
        lets all columns count alike.  Factors that are given, zeros or numbers from 1e-12 to 1e12, are used as they
        are.  A stream learns them from the rows of its warm-up, if these have two classes or more, and again from its
        newest rows when rows move away from the landmarks or the error rate rises.
    feature_map : {"auto", "nystroem", "fourier", "orthogonal", "exact"} or transformer, default="auto"
        How the kernel is turned into features.  "auto" uses the columns themselves for the linear and additive kernels
        (up to 4,000 features), the exact kernel up to 2,000 distinct rows, and Nystroem landmarks beyond that or when
        `n_components` is a number.  With a scikit-learn transformer, `kernel` and `gamma` are not used.
    n_components : int or "auto", default="auto"
        Number of features of the Nystroem and Fourier maps.  "auto" starts from 10 sqrt(n_samples) and doubles it as
        long as that gains two points of accuracy on held-out rows; it stays between 50 and 2,000, and lower where the
        mapped rows or the planes would exceed a quarter of a billion numbers.
    C : float or pair of floats, default=1.0
        Price of a row that comes too near to the plane of the other class.  A pair, for two classes, gives the plane
        near `classes_[0]` first.
    reg : float or pair of floats, default=0.01
        Ridge penalty of the planes, for features with a mean square norm of one; a pair as for C.
    mu : float, default=0.5
        Membership factor of rows that are nearer to the centre of the other class than to that of their own; all other
        rows have the factor 1 - mu.  So a small mu makes rows near the other class count less.
    membership : {"fuzzy", "printed", "none"}, default="fuzzy"
        "fuzzy" falls with the distance to the centre of the class and is rescaled to (0, 1] for each class and
        opponent; "printed" is the paper's formula without rescaling; "none" lets all rows count alike.
    multiclass : {"dag", "vote"}, default="dag"
        "dag" goes through the classes in the order of `classes_`, each against the winner so far (from 24 classes on it
        computes only 2 (n_classes - 1) plane values for each row).  "vote" takes the class that wins most pairs.
    decision : {"calibrated", "value", "distance"}, default="calibrated"
        What a pair of classes compares: plane values with an offset learned on left-out rows, plain values ``|h.u|``,
        or the paper's distances ``|h.u| / ||w||``.
    class_weight : dict, "balanced" or None, default=None
        Factors on the weights of the rows of each class.  Classes that a dict does not name have a factor of one.  A
        dict that names a class which cannot occur, and omits one that can, is refused; on a stream every class can
        occur, unless `partial_fit` is given `classes`.  "balanced" follows the counts of a stream; use it there
        together with decay="auto".
    tol : float, default=1e-3
        Duality gap at which a plane counts as solved, relative to its primal value at u = 0.
    max_iter : int, default=1000
        Largest number of sweeps of coordinate descent for a plane; a `ConvergenceWarning` says if it was too small.
    memory : int or None, default=200
        Stream: largest number of support rows stored for each class after each re-solve; None stores all.  Rows beyond
        it are condensed: their share in the planes stays, they themselves are dropped.  Between two re-solves up to
        1,000 more rows are stored.
    second_look : int, default=100
        Stream: size of the reserve of each class, the newest rows that are not support rows at present.  Every re-solve
        considers them again.
    forget_after : int or None, default=None
        Stream: the paper's d.  A support row whose dual variables are all at most `forget_below` in so many re-solves
        goes to the reserve; with None it stays until the class has more than `memory` rows.
    forget_below : float, default=1e-5
        Stream: the paper's phi.
    decay : float or "auto", default=1.0
        Stream: factor by which the weight of a row shrinks with each row that comes after it; 1 is no forgetting.
        "auto" keeps a committee of up to seven models.  Four use the feature map: half-lives of 10, 100 and 1,000 rows,
        and no decay.  Three use the standardised columns themselves: half-lives of 100 and 1,000 rows, and no decay.
        Those without decay start again when their error rate rises.  All are weighed by how well they classify new rows
        before learning them.  That takes several times the work, and `decision` and `multiclass` are not used.
    half_life : float or None, default=None
        Stream: number of rows after which half of a row's weight is left; an alternative to `decay`.
    accept : {"kkt", "inside", "outside", "all"}, default="kkt"
        Stream: which new rows may become support rows.  "kkt": rows that violate the optimality conditions of a plane;
        "inside" and "outside": rows whose gradient is inside, or outside, the range of the last re-solve (as in the
        published code, and as printed in the paper); "all": every row.
    statistics : {"all", "kept"}, default="all"
        Stream: whether the Gram matrices sum all rows or, as in the paper, support rows only.
    warm_up : int or "auto", default="auto"
        Stream: number of rows from which gamma, metric, map and scale are found; "auto" is 500, or `n_components` if
        that is more.
    drift_detector : object or None, default=None
        Stream: an object with river's interface, `update(error)` and `drift_detected`.  A copy of it gets 1 for each
        row that was classified wrongly before it was learned, 0 for the others; when it sees a drift, all that the
        model knows fades to a tenth of its weight.
    n_jobs : int or None, default=None
        Number of threads; the result does not depend on it.  None uses as many as BLAS may use in `fit`, and one on a
        stream.
    random_state : int, RandomState or None, default=None
        Seed of landmarks, frequencies and samples.  Not needed for at most 2,000 distinct rows among at most 10,000
        rows, unless the map is random.
    verbose : int, default=0
        1 prints the steps of a fit, 2 also the progress of the solver.  The logger "fbtwsvm" gets them in any case.
    device : str or None, default=None
        Where rows of NumPy, frames, chunks and Dask collections are fitted and classified: None is the CPU, "cuda" or
        "cuda:1" a GPU, any other name a device of Torch.  Up to 2,000 rows are fitted and classified on the CPU, and
        `partial_fit` learns chunks of fewer than 10,000 rows on the CPU.  Rows that are given as Torch tensors or CuPy
        arrays are fitted and classified on their own device.  See the guide, "On a GPU".
    precision : {"high", "highest"}, default="high"
        Precision of the features on a GPU.  "high" rounds them to bf16 where the GPU multiplies such numbers fast; the
        planes are then solved for the rounded features, and their duality gap is true for these.  "highest" has the
        precision of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    planes_ : ndarray of shape (n_classes, n_classes, `n_components_` + 1)
        planes_[a, b] is the plane near class a that pushes class b: weights of the features, then the bias.  The
        features of the exact kernel are the similarities to the distinct training rows.
    support_ : ndarray of shape (n_support,)
        Indices of training rows with a dual variable above zero in any plane; after `fit` only, and not of a Dask
        collection.
    n_support_ : ndarray of shape (n_classes,)
        Number of support rows of each class.
    memberships_ : ndarray of shape (n_samples, n_classes)
        Membership of each training row against each other class; zero for rows of weight zero.  After `fit` only, and
        not after a fit on chunks or on rows that were mapped tile by tile.
    kept_ : int
        Stream: number of rows stored at the last re-solve; `memory_report` shows them.
    n_iter_ : int
        Largest number of sweeps that a plane needed.
    n_passes_ : int
        How often the rows of a Dask collection were read; after a fit on one only.
    duality_gap_ : ndarray of shape (n_classes, n_classes)
        Relative duality gap of every plane; zero on the diagonal.
    gamma_ : float or None
        The gamma in use; None where the kernel or the map has none.
    metric_ : ndarray of shape (`n_features_in_`,)
        The factors of the columns in use; ones where there is no metric.
    n_rounds_ : int
        Number of rounds in which the metric was learned; 0 if it was not.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Importance of each column; all sum to 1.  How fast the probability of the predicted class changes, per standard
        deviation of the column, on average over rows that the model holds (training rows, landmarks, or rows kept of a
        linear model); equal shares if nothing changes at all.  Computed when it is read.  A model without such rows,
        such as a stream with Fourier features, has `gradients` only.
    n_components_ : int
        Number of features after the map.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if X had names that are all strings.

    See Also
    --------
    FBTWSVMCV : The same model with its parameters chosen by cross-validation.
    sklearn.svm.SVC : The kernel classifier that this one is compared with.
    fbtwsvm.features.NystroemFeatures : The map behind feature_map="nystroem".

    References
    ----------
    A. R. Mello, M. R. Stemmer, A. L. Koerich, "Incremental and Decremental Fuzzy Bounded Twin Support Vector Machine",
    Information Sciences 526 (2020).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import train_test_split
    >>> from fbtwsvm import FBTWSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = FBTWSVM().fit(X_train, y_train)
    >>> bool(model.score(X_test, y_test) > 0.9)
    True
    >>> bool(model.duality_gap_.max() <= model.tol)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [StrOptions({"auto", "scale"}), _POSITIVE],
        "metric": [StrOptions({"auto", "columns", "none"}), "array-like"],
        "feature_map": [
            StrOptions({"auto", "nystroem", "fourier", "orthogonal", "exact"}),
            HasMethods(["fit", "transform"]),
        ],
        "n_components": [StrOptions({"auto"}), _COUNT],
        "C": [_POSITIVE, tuple, list],
        "reg": [_POSITIVE, tuple, list],
        "mu": [Interval(Real, 0, 1, closed="both")],
        "membership": [StrOptions({"fuzzy", "printed", "none"})],
        "multiclass": [StrOptions({"dag", "vote"})],
        "decision": [StrOptions({"calibrated", "value", "distance"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "tol": [_POSITIVE],
        "max_iter": [_COUNT],
        "memory": [_COUNT, None],
        "second_look": [Interval(Integral, 0, None, closed="left")],
        "forget_after": [_COUNT, None],
        "forget_below": [Interval(Real, 0, None, closed="left")],
        "decay": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
        "half_life": [_POSITIVE, None],
        "accept": [StrOptions({"kkt", "inside", "outside", "all"})],
        "statistics": [StrOptions({"all", "kept"})],
        "warm_up": [StrOptions({"auto"}), _COUNT],
        "drift_detector": [HasMethods(["update"]), None],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "device": [str, None],
        "precision": [StrOptions({"high", "highest"})],
    }

    def __init__(
        self,
        *,
        kernel: str | Kernel = "rbf",
        gamma: float | str = "auto",
        metric: str | Array = "auto",
        feature_map: Any = "auto",
        n_components: int | str = "auto",
        C: float | tuple[float, float] = 1.0,
        reg: float | tuple[float, float] = 0.01,
        mu: float = 0.5,
        membership: str = "fuzzy",
        multiclass: str = "dag",
        decision: str = "calibrated",
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        memory: int | None = 200,
        second_look: int = 100,
        forget_after: int | None = None,
        forget_below: float = 1e-5,
        decay: float | str = 1.0,
        half_life: float | None = None,
        accept: str = "kkt",
        statistics: str = "all",
        warm_up: int | str = "auto",
        drift_detector: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        device: str | None = None,
        precision: str = "high",
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.metric = metric
        self.feature_map = feature_map
        self.n_components = n_components
        self.C = C
        self.reg = reg
        self.mu = mu
        self.membership = membership
        self.multiclass = multiclass
        self.decision = decision
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.second_look = second_look
        self.forget_after = forget_after
        self.forget_below = forget_below
        self.decay = decay
        self.half_life = half_life
        self.accept = accept
        self.statistics = statistics
        self.warm_up = warm_up
        self.drift_detector = drift_detector
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.device = device
        self.precision = precision

    device: str | None = None  # for pickles of versions that had neither
    precision: str = "high"
    _learned: Learned | None = None  # all that was learned; replaced in one step
    _checked_columns: dict[str, Any] | None = None  # of a copy on which scikit-learn notes the columns of a call

    planes_ = _attribute("planes", axes=(0, 1))
    duality_gap_ = _attribute("gaps", axes=(0, 1))
    n_iter_ = _attribute("n_iter")
    n_passes_ = _attribute("n_passes")
    gamma_ = _attribute("gamma")
    n_support_ = _attribute("n_support", axes=(0,))
    support_ = _attribute("support")
    memberships_ = _attribute("memberships")
    kept_ = _attribute("n_kept")
    n_features_in_ = noted_column("n_features_in_")
    feature_names_in_ = noted_column("feature_names_in_")

    @property
    def classes_(self) -> Array:
        """Labels, sorted."""
        self._need("classes_")
        return self._fitted().classes

    @property
    def metric_(self) -> Array:
        """Factors of the columns in the kernel."""
        metric = self._need("metric_").mapping.metric
        factors = np.ones(self.n_features_in_) if metric is None else np.array(metric, dtype=np.float64)
        return cast(Array, self._fitted().shown(factors))

    @property
    def n_rounds_(self) -> int:
        """Number of rounds in which the metric was learned."""
        return self._need("n_rounds_").mapping.rounds

    @property
    def feature_importances_(self) -> Array:
        """Importance of each column; all sum to 1."""
        model = self._need("feature_importances_")
        if not model.mapping.differentiable:
            raise AttributeError(f"{type(self).__name__} has no feature_importances_: its map has no gradient.")
        if model.held_rows is None:
            raise AttributeError(
                f"{type(self).__name__} has no feature_importances_ here: this model holds no rows to compute them "
                "at. gradients(X) returns the slopes at rows that you give."
            )
        return cast(Array, self._fitted().shown(importances(model.answers, model.held_rows)))

    def _need(self, name: str) -> Model:
        """Return the model behind an attribute."""
        if self._learned is None:
            raise AttributeError(f"{type(self).__name__} has no {name}: it is not fitted.")
        return self._learned.model

    @property
    def n_components_(self) -> int:
        """Number of features after the map."""
        return int(self._need("n_components_").planes.shape[2]) - 1

    @property
    def _model(self) -> Model | None:
        return None if self._learned is None else self._learned.model

    @property
    def _columns(self) -> dict[str, Any]:
        if self._checked_columns is not None:
            return self._checked_columns
        return {} if self._learned is None else self._learned.columns

    def __copy__(self) -> Self:
        """Return a copy; what learns in place is copied too."""
        clone = self._probe()
        if self._learned is not None and not isinstance(self._learned.model, BatchModel):
            clone._learned = replace(self._learned, model=self._learned.model.copy())
        return clone

    def _probe(self) -> Self:
        """Return an estimator with the same parameters that shares all that was learned."""
        probe = object.__new__(type(self))
        probe.__dict__.update(self.__dict__)
        return probe

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, ids: Any = None, groups: Any = None) -> Self:
        """Learn from all rows at once; a call that fails leaves the model as it was.

        The model keeps what `partial_fit`, `merge` and `unlearn` need to go on from here: the training rows, or the
        sums of its classes and at most `memory` support rows of each, whichever is smaller.  Chunks, and dense rows of
        which `n_components` features would take more than 2 GiB, are mapped tile by tile, several times over, and the
        mapped rows are never held all at once.  The rows of a Dask collection stay where they are: only sums over
        them, and a few of the rows, are brought here.  See the guide, "Many machines".

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame, tensor, Dask collection} of shape (n_samples, n_features), or chunks
            Training rows.  float32 stays float32 (but the exact kernel of small data works in float64), everything else
            becomes float64.  A memory map (`np.memmap`) of floats is read in place.  Without `y`: something that yields
            (X, y) chunks anew each time it is iterated over, such as a list; they are written once, in the precision of
            the first chunk, to a temporary file that is deleted after the call.
        y : array-like of shape (n_samples,), or None for chunks
            Labels of one kind (strings, numbers, booleans), two classes or more.  Labels and weights of a Dask
            collection have its partitions.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is the row twice, a weight of 0 an absent row.
        ids : array-like of shape (n_samples,), default=None
            An id for each row, by which `unlearn` finds it again; for at most 64 MiB of rows, and not for chunks or
            Dask collections.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, such as a person or a machine, where new rows come from new groups: gamma="auto" is
            then judged on groups that were held out.  Not for chunks or Dask collections.

        Returns
        -------
        FBTWSVM
            The fitted model itself.
        """
        self._validate_params()
        with shown(self.verbose):
            if is_collection(X):
                model, columns = self._fit_collection(X, y, sample_weight, ids, groups)
            elif are_chunks(X, y):
                model, columns = self._fit_chunks(X, sample_weight, ids, groups)
            elif self.device is not None or is_foreign(X):
                model, columns = self._fit_on_device(X, y, sample_weight, ids, groups)
            else:
                model, columns = self._fit(X, y, sample_weight, ids, groups)
        self._warn_of_gap(float(model.gaps.max()))
        return self._publish(
            model, columns=columns, promised=None, place=zeros((0, X.shape[1]), X) if is_foreign(X) else None
        )

    def _warn_of_spread(self, message: str | None) -> None:
        """Warn if columns differ so much in scale that the kernel sees only some of them."""
        if message is None or not isinstance(self.feature_map, str) or self.kernel not in _SCALED_KERNELS:
            return
        if isinstance(self.metric, str):  # a given metric is there to bring columns to one scale
            warn(message, UserWarning)

    def _warn_of_gap(self, largest: float) -> None:
        """Warn if a plane was not solved to `tol`."""
        if largest > self.tol:
            warn(
                f"Planes stopped above tol={self.tol:g} (largest duality gap {largest:.2g}). Raise max_iter (now "
                f"{self.max_iter}) or tol; float32 input cannot go below about 1e-6.",
                ConvergenceWarning,
            )

    def predict(self, X: Any) -> Array:
        """Labels of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame, Dask collection} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class that wins the DAG or the vote.  Answers for a Dask collection, here and below, are lazy and
            partitioned as the rows are: an array for an array, a series or a frame for a frame.
        """
        answers = self._fitted().model.answers
        if is_collection(X):
            return self._lazily(X, "predict", answers.classes.dtype)
        if self._goes_to_device(X, "predict"):
            return cast(Array, self._from_device(X, "predict"))
        labels: Array = answers.classes[self._decide(answers, X, answers.rule.winners)]
        return labels

    def decision_function(self, X: Any) -> Array:
        """Scores whose largest is the predicted class.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame, Dask collection} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: slope (log|h.u_01| - log|h.u_10| - offset), positive for `classes_[1]`.  More: the pairs
            that each class wins, plus less than a third of a vote for how clearly; where the winner of the DAG
            is not the class with most pairs, those two swap scores.
        """
        learned = self._fitted()
        answers, every = learned.model.answers, learned.classes
        if is_collection(X):
            return self._lazily(X, "decision_function", columns=None if len(every) == 2 else every)
        if self._goes_to_device(X, "decision_function"):
            return cast(Array, self._from_device(X, "decision_function"))
        if len(answers.classes) == len(every) == 2:
            return self._decide(answers, X, answers.rule.margins)
        scores = learned.spread(self._decide(answers, X, answers.rule.scores), (1,), fill=-1.0)
        return scores if len(every) != 2 else scores[:, 1] - scores[:, 0]

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities by pairwise coupling.

        They come from the learned offsets and slopes, which were fitted on values that each training row gets from
        planes trained without it.  With `decision="calibrated"` the most probable class is always that of `predict`;
        the fixed rules "value" and "distance" decide by other offsets and can differ.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame, Dask collection} of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to one; columns follow `classes_`.
        """
        learned = self._fitted()
        answers = learned.model.answers
        if is_collection(X):
            return self._lazily(X, "predict_proba", columns=learned.classes)
        if self._goes_to_device(X, "predict_proba"):
            return cast(Array, self._from_device(X, "predict_proba"))
        return learned.spread(self._decide(answers, X, answers.rule.probabilities), (1,))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame, Dask collection} of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            `log(predict_proba(X))`; minus infinity for a class that was promised and has no rows yet.
        """
        if is_collection(X):
            return self._lazily(X, "predict_log_proba", columns=self._fitted().classes)
        if self._goes_to_device(X, "predict_log_proba"):
            return cast(Array, self._from_device(X, "predict_log_proba"))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame, Dask collection} of shape (n_samples, n_features)
            Rows to classify.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            The share of the rows, by weight, that are classified correctly; also of a Dask collection, which is
            computed.
        """
        if is_collection(X):
            return accuracy(self._answering(), self._fitted().model.answers.mapping, X, y, sample_weight)
        if is_foreign(X):
            return share_of_hits(self.predict(X), y, sample_weight)
        return float(super().score(X, y, sample_weight))

    def plane_values(self, X: Any, near: Any, pushed: Any) -> Array:
        """Value h.u of one plane: about zero at its own class, -1 or less beyond the other's margin.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        near : label
            The class that the plane lies near.
        pushed : label
            The class that it keeps away.

        Returns
        -------
        ndarray of shape (n_samples,)
            The values.
        """
        answers = self._fitted().model.answers
        known = answers.classes.tolist()
        if near not in known or pushed not in known or near == pushed:
            raise ValueError(f"near and pushed must be two different classes of {known}, got {near!r} and {pushed!r}.")
        if is_collection(X):
            return self._lazily(X, "plane_values", answers.mapping.dtype, arguments=(near, pushed))
        if is_foreign(X):
            return cast(Array, like(self.plane_values(to_numpy(X), near, pushed), X))
        a, b = known.index(near), known.index(pushed)
        return self._decide(answers, X, lambda rows: rows @ answers.rule.shown_planes[a, b])

    def gradients(self, X: Any) -> Array:
        """Compute how the probability of the predicted class changes with each column.

        For two classes these are the slopes of `predict_proba`.  For more classes they are those of similar
        probabilities, which have a closed form.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The gradient at each row.
        """
        answers = self._fitted().model.answers
        if is_collection(X):
            return self._lazily(
                X, "gradients", columns=getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
            )
        if is_foreign(X):
            return cast(Array, like(self.gradients(to_numpy(X)), X))
        return gradients(answers, self._readable(answers, X))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, ids: Any = None) -> Self:
        """Learn a chunk of rows; a call that fails or is interrupted leaves the model as it was.

        The first `warm_up` rows are stored, and a provisional model answers meanwhile.  Then gamma, the map and its
        scale are found from them, piece by piece while more rows come.  After `fit`, learning goes on from the fitted
        model, with the same gamma and map; the exact kernel, which would grow with every row, is replaced by a map with
        landmarks from the training rows.

        Chunks of fewer than 1,000 rows are learned row by row: each row moves the planes at once, and the result does
        not depend on the sizes of the chunks.  The dual variables of older rows are brought up to date by re-solves, of
        a few classes at a time: when a class has grown by half, and at the latest after 1,000 rows, or 10 half-lives
        (see `settle`).

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame, Dask collection} of shape (n_samples, n_features)
            Rows, as few as one.  The partitions of a Dask collection are learned as chunks, in order: all or none.
        y : array-like of shape (n_samples,)
            Labels; new ones may turn up at any time.
        classes : array-like, default=None
            Not needed.  If given, it binds: a label that is not among them is an error in this call and in all later
            ones, and `classes_` and `predict_proba` have all of them from now on.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight zero are skipped.
        ids : array-like of shape (n_samples,), default=None
            An id for each row, by which `unlearn` finds it even when it is no longer stored.  Each takes a few hundred
            bytes of memory, more for many classes, as long as its row is part of the model.

        Returns
        -------
        FBTWSVM
            The model itself.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from fbtwsvm import FBTWSVM
        >>> X, y = load_digits(return_X_y=True)
        >>> model = FBTWSVM(gamma="scale", random_state=0)
        >>> for start in range(0, 1200, 100):
        ...     model = model.partial_fit(X[start : start + 100], y[start : start + 100])
        >>> bool(model.score(X[1200:], y[1200:]) > 0.9)
        True
        """
        if is_collection(X):
            return self._learn_collection(X, y, classes, sample_weight, ids)
        if is_foreign(X) or self.device is not None:
            done = self._learn_on_device(X, y, classes, sample_weight, ids)
            if done is not None:
                return done
            X, y, sample_weight = map(_here, (X, y, sample_weight))
        rows, columns, promised = self._check_stream(X, y, sample_weight, ids, classes)
        parameters = self._parameters()
        model = self._going_on(parameters)
        if ids is not None and model is not None:
            model.refuse_known(rows.ids)
        if sample_weight is not None:
            rows = rows.take(rows.weights > 0)
        if isinstance(model, StreamModel) and promised is not self._fitted().promised:
            model = model.copy()  # classes and rows are taken in the same step
        return self._learn(model, rows, columns, promised, parameters)

    def settle(self) -> Self:
        """Re-solve now: bring the dual variables of all stored rows up to date, rather than when it is next due.

        In the warm-up and after `fit` there is nothing to bring up to date.

        Returns
        -------
        FBTWSVM
            The model itself.
        """
        self._fitted()
        model = self._model if isinstance(self._model, BatchModel) else self._going_on()
        assert model is not None
        model = model.resolved()
        if isinstance(model, StreamModel):
            self._warn_of_gap(model.largest_gap)
        return self._publish(model)

    def unlearn(self, X: Any = None, y: Any = None, sample_weight: Any = None, ids: Any = None) -> Unlearned:
        """Take rows out again, as if they had never been learned.

        Without `X` and `y`, rows are found by their ids alone, which is possible as long as the model stores them: in
        the warm-up, after a fit that has kept its rows, and on a stream while they are kept.

        After `fit`, the remaining rows are fitted once more with the same gamma and map, if the model has kept its rows
        (it keeps them, or sums over them, whichever is smaller); otherwise it goes on as a stream, from its sums.

        On a stream, each row is subtracted from the sums of its class.  If it is stored, which is found out by its id
        or by its values, it goes with its dual variables.  When every row is stored (`memory=None`, a large
        `second_look`, no decay) and the map does not depend on rows (Fourier features with a number for gamma), nothing
        remains: the result equals training without the rows, followed by `settle`, to solver tolerance.
        Otherwise the returned report says what remains: of the row itself, or of its influence on which other rows were
        kept, on their dual variables, and on offsets and trust.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), default=None
            The rows as they were learned; None if their ids are enough.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights; not used for rows that are stored or have an id, whose weights are known.
        ids : array-like of shape (n_samples,), default=None
            Their ids.

        Returns
        -------
        Unlearned
            How many rows were taken out, and of which rows something remains, and why.

        Raises
        ------
        ValueError
            If a row cannot have been learned, or is no longer stored and only its id is given; the model is then as it
            was.
        """
        if X is None and y is None:
            return self._unlearn_ids(ids)
        if X is None or y is None:
            raise ValueError("unlearn needs X and y together, or neither of them and ids.")
        known = self._fitted().model.classes
        rows, columns, _ = self._check_stream(X, y, sample_weight, ids, None)
        unknown = np.setdiff1d(rows.y, known)
        if len(unknown):
            raise ValueError(f"Nothing was unlearned: the model has no class {as_python(unknown[0])!r}.")
        parameters, model = parameters_of(self), self._model
        left: Model
        if isinstance(model, BatchModel):
            left, result = unlearn_from(model, rows, parameters)
        else:
            going_on = self._going_on()
            assert going_on is not None
            left, result = going_on.unlearn(rows, parameters)
        if isinstance(left, StreamModel):
            self._warn_of_gap(left.largest_gap)
        self._publish(left, columns=columns)
        return result

    def _unlearn_ids(self, ids: Any) -> Unlearned:
        """Take rows out by their ids alone."""
        model = self._fitted().model
        if ids is None:
            raise ValueError("unlearn needs rows and labels, or the ids of rows: unlearn(X, y), unlearn(ids=[...]).")
        names = checked_ids(ids)
        if not len(names):
            return Unlearned()
        left: Model
        if isinstance(model, BatchModel):
            left, result = unlearn_ids_from(model, names, parameters_of(self))
        else:
            going_on = self._going_on()
            assert going_on is not None
            left, result = going_on.unlearn_ids(names, parameters_of(self))
        if isinstance(left, StreamModel):
            self._warn_of_gap(left.largest_gap)
        self._publish(left)
        return result

    def merge(self, other: Any) -> Self:
        """Add what another model has learned from other rows with the same map; the other is left as it is.

        Sums add up, stored rows are joined, and the planes are solved again.  Both models must have left their warm-up.

        Parameters
        ----------
        other : FBTWSVM
            A model with the same parameters and the same map: Fourier features with a number for gamma and the same
            `random_state`, or one fitted map for both, `feature_map=FrozenEstimator(map)`.  No row may be in both:
            copies of one model share their first rows, and are refused.

        Returns
        -------
        FBTWSVM
            The model itself, which now knows the rows of both.
        """
        promised = self._fitted().promised
        other._fitted()
        mine, theirs = self._going_on(), other._going_on()
        mine, theirs = (None if model is None else model.finished() for model in (mine, theirs))
        for model in (mine, theirs):
            if isinstance(model, WarmUpModel):
                raise ValueError(
                    f"merge: a model is still in its warm-up ({len(model.rows)} rows). Let it learn more first."
                )
        assert isinstance(mine, StreamModel)
        assert isinstance(theirs, StreamModel)
        if promised is not None and not np.isin(theirs.classes, promised).all():
            unknown = as_python(np.setdiff1d(theirs.classes, promised)[0])
            raise ValueError(f"merge: the other model has the class {unknown!r}, which is not in classes.")
        merged = mine.merge(theirs)
        self._warn_of_gap(merged.largest_gap)
        return self._publish(merged)

    def inspect(self) -> Inspection:
        """Look inside, in a few numbers: the stage of the model, rows seen, kept and forgotten, bytes.

        Returns
        -------
        Inspection
            Counts and sizes; `memory_report` has more of a stream.
        """
        return self._fitted().model.inspect()

    def memory_report(self) -> MemoryReport:
        """Show what the model stores: support rows, what is left of other rows, and how many bytes it takes.

        Returns
        -------
        MemoryReport
            Print it, or use its parts: stored rows with their ids, memberships and dual variables.
        """
        return report(self._fitted().model)

    def _summary(self) -> dict[str, str]:
        return {} if self._learned is None else summary(self)

    def _fit(self, X: Any, y: Any, sample_weight: Any, ids: Any, groups: Any) -> tuple[BatchModel, dict[str, Any]]:
        """Check rows and fit them."""
        X, y, columns = self._checked(X, y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        parameters, rows = parameters_of(self), _named(CheckedRows.unnamed(X, y, weights), ids)
        size = row_bytes(X)
        if ids is not None and size > _MOST_WITH_IDS:
            raise ValueError(
                f"There are too many rows ({size / 2**20:.0f} MiB) to learn at once and still find by id. Learn them "
                "with partial_fit, in chunks."
            )
        if groups is not None:
            groups = group_numbers(groups, X)
        self._warn_of_spread(check_spread(X))
        mapped, names = fits_in_memory(parameters, X), None if ids is None else rows.ids
        return fit_rows(parameters, X, y, weights, ids=names, mapped=mapped, groups=groups), columns

    def _fit_on_device(
        self, X: Any, y: Any, sample_weight: Any, ids: Any, groups: Any
    ) -> tuple[BatchModel, dict[str, Any]]:
        """Fit rows on the device that they are on, or on `device`; a few rows are fitted here."""
        if self.device is not None:
            check_device(self.device)
        if np.ndim(X) != 2 or np.shape(X)[0] <= SMALL:
            return self._fit(_here(X), _here(y), _here(sample_weight), ids, groups)
        check_possible(X, ids, groups)
        rows, columns = self._rows_on_device(X, y, sample_weight)
        self._warn_of_spread(check_spread(some_rows(rows.X)))
        return fit_on_device(parameters_of(self), rows), columns

    def _rows_on_device(
        self, X: Any, y: Any, sample_weight: Any, known: Array | None = None
    ) -> tuple[DeviceRows, dict[str, Any]]:
        """Check rows and sort them by class, on their device or on `device`; return them and their columns.

        `known` are the classes that a model has learned already, whose balance the model knows.
        """
        columns, first = self._columns, known is None
        if (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in (np.float16, np.float32, np.float64)
            and X.dtype.isnative
        ):
            X = sent(X, str(self.device))
        if is_foreign(X):
            X = checked_rows(X, None if first else columns["n_features_in_"], type(self).__name__, self.precision)
            columns = {"n_features_in_": int(X.shape[1])} if first else columns
        else:
            X, y, columns = self._checked(X, _here(y), first=first, sparse=False)
            X = sent(X, str(self.device))
        balance = None if known is not None and self.class_weight == "balanced" else self.class_weight
        return self._arranged(X, y, sample_weight, balance, known), columns

    def _arranged(self, X: Any, y: Any, weights: Any, balance: Any, known: Array | None = None) -> DeviceRows:
        """Sort checked rows by class, on their device or on `device`."""
        sample = X if is_foreign(X) else on_device(some_rows(X), str(self.device))
        place = sample if is_foreign(X) else checked_rows(sample, None, type(self).__name__, self.precision)
        place = place[:0, :]
        labels, weights = checked_labels(y, X.shape[0], place), checked_weights(weights, X.shape[0], place)
        return arrange_on_device(X, labels, weights, balance, place, known)

    def _fit_chunks(self, chunks: Any, sample_weight: Any, ids: Any, groups: Any) -> tuple[BatchModel, dict[str, Any]]:
        """Fit chunks that can be read again."""
        if sample_weight is not None or ids is not None:
            raise ValueError("sample_weight and ids cannot be given beside chunks: use class_weight, or partial_fit.")
        if groups is not None:
            raise ValueError("groups cannot be given beside chunks: give gamma as a number.")
        if self.device is not None:
            check_device(self.device)
        return self._fit_spooled(chunks_of(chunks), [])

    def _fit_spooled(self, chunks: Iterator[tuple[Any, Any]], weights: list[Any]) -> tuple[BatchModel, dict[str, Any]]:
        """Fit chunks, which are written to a temporary file; `weights` are filled while they are read, or empty."""
        probe, parameters = self._probe(), parameters_of(self)
        seen: list[int] = []

        def check(X: Any, y: Any) -> tuple[Array, Array]:
            X, y, _ = probe._checked(X, y, first=not seen, sparse=False, probe=probe)
            seen.append(len(y))
            return X, y

        with closing(Spool(chunks, check)) as rows:
            few = len(rows) <= LARGE
            self._warn_of_spread(check_spread(rows[:LARGE]))
            given = np.concatenate(weights) if weights else None
            if self.device is not None and len(rows) > SMALL:
                every = self._arranged(sent(rows, self.device), rows.y[:], given, self.class_weight)
                return fit_on_device(parameters, every), probe._columns
            data: tuple[Any, Any] = (rows[:], rows.y[:]) if few else (rows, rows.y)
            model = fit_rows(parameters, *data, given, mapped=few)
        return model, probe._columns

    def _fit_collection(
        self, X: Any, y: Any, sample_weight: Any, ids: Any, groups: Any
    ) -> tuple[BatchModel, dict[str, Any]]:
        """Fit the rows of a Dask collection."""
        for name, value in (("ids", ids), ("groups", groups)):
            if value is not None:
                raise ValueError(f"{name} cannot be given beside a Dask collection: fit an array, or use partial_fit.")
        if self.device is not None:
            return self._collection_on_device(X, y, sample_weight)
        rows, columns = collected_rows(self, X, y, sample_weight)
        self._warn_of_spread(rows.facts.warning)
        return fit_collection(parameters_of(self), rows), columns

    def _collection_on_device(self, X: Any, y: Any, sample_weight: Any) -> tuple[BatchModel, dict[str, Any]]:
        """Bring the partitions of a Dask collection here, one by one, and fit them on `device`."""
        check_device(str(self.device))
        if y is None:
            raise ValueError("fit needs the labels y of a Dask collection.")
        partitions, weights = Partitions(X, y, sample_weight), []
        probe = clone(self)
        _check_feature_names(probe, partitions.X._meta, reset=True)
        probe.n_features_in_ = partitions.n_columns

        def chunks() -> Iterator[tuple[Any, Any]]:
            for p, rows, labels, given in partitions.in_order():
                if not len(labels) and not rows.shape[0]:
                    continue
                try:
                    rows, labels, checked = _check_partition(probe, rows, labels, given)
                    check_possible(rows, None, None)
                except (ValueError, TypeError) as error:
                    raise ValueError(f"Partition {p}: {error}") from error
                weights.append(checked)
                yield rows, labels

        model, _ = self._fit_spooled(chunks(), weights)
        return replace(model, n_passes=1, support=None, memberships=None), probe._columns

    def _learn_collection(self, X: Any, y: Any, classes: Any, sample_weight: Any, ids: Any) -> Self:
        """Learn the partitions of a Dask collection as chunks, in order: all of them, or none."""
        if ids is not None:
            raise ValueError("ids cannot be given beside a Dask collection: learn its partitions one by one.")
        if y is None:
            raise ValueError("partial_fit needs the labels y of a Dask collection.")
        learner, done = copy(self), 0
        for p, *chunk in Partitions(X, y, sample_weight).in_order():
            rows, labels, weights = chunk
            if not rows.shape[0] and not len(labels):
                continue
            try:
                learner.partial_fit(rows, np.asarray(labels), classes, weights)
            except ValueError as error:
                raise ValueError(f"Nothing was learned. Partition {p}: {error}") from error
            done += 1
        if not done:
            raise ValueError("The collection has no rows.")
        self.__dict__.pop("_checked_columns", None)
        self._learned = learner._learned
        return self

    def _lazily(
        self,
        X: Any,
        method: str,
        dtype: Any = np.float64,
        columns: Array | None = None,
        arguments: tuple[Any, ...] = (),
    ) -> Array:
        """Return what a method answers for a Dask collection, as a collection that is computed when it is needed."""
        mapping = self._fitted().model.answers.mapping
        answers: Array = lazy_answers(self._answering(), mapping, X, method, np.dtype(dtype), columns, arguments)
        return answers

    def _answering(self) -> Self:
        """Return an estimator that only answers, as this one does now."""
        probe, learned = self._probe(), self._fitted()
        probe._learned = replace(learned, model=cast(Model, AnswersOnly(learned.model.answers)))
        return probe

    def _checked(
        self, X: Any, y: Any, *, first: bool = True, sparse: bool = True, dtype: Any = None, probe: Any = None
    ) -> tuple[Any, Array, dict[str, Any]]:
        """Check rows and labels; the first ones say how many columns there are.

        scikit-learn writes the columns on the estimator that it is given: a copy, so that nothing changes if the call
        fails.
        """
        probe = self._probe() if probe is None else probe
        accept, kinds = ("csr" if sparse else False), [np.float64, np.float32] if dtype is None else dtype
        y = as_labels(y)
        with clear_errors(y):
            X, y = validate_data(probe, X, y, accept_sparse=accept, dtype=kinds, reset=first)
            check_labels(y)
        if first:
            X = check_first_values(X)
        else:
            check_values(X)
        self._check_domain(X)
        return X, y, probe._columns

    def _check_stream(
        self, X: Any, y: Any, sample_weight: Any, ids: Any, classes: Any
    ) -> tuple[CheckedRows, dict[str, Any], Array | None]:
        """Check the rows of a call, before anything changes; return them, their columns and the promised classes."""
        model = self._model
        columns = self._columns
        if model is None:
            self._validate_params()
            policies_of(parameters_of(self))
            X, y, columns = self._checked(X, y)
            given_metric(parameters_of(self), X.shape[1])  # raises an error for an impossible one
        elif self._is_plain(model.dtype, X) and _are_plain_labels(y, X):
            self._check_domain(X)
        else:
            X, y, columns = self._checked(X, y, first=False, dtype=model.dtype)
        rows = CheckedRows.unnamed(_stored_like(model, X), y)
        if sample_weight is not None and np.shape(sample_weight) == y.shape and not np.any(sample_weight):
            rows = replace(rows, weights=np.zeros(len(y)))  # rows that are skipped, which scikit-learn refuses
        elif sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            rows = replace(rows, weights=weights)
        rows = _named(rows, ids)
        if model is not None:
            check_same_kind(y, model.classes)
        promised = self._promised(classes)
        if promised is not None:
            check_same_kind(y, promised)
        _refuse_unpromised(y, promised)
        return rows, columns, promised

    def _promised(self, classes: Any) -> Array | None:
        """Return the classes that bind from now on: those of this call, or of an earlier one."""
        promised = None if self._learned is None else self._learned.promised
        if classes is None:
            return promised
        named = np.asarray(as_labels(classes))
        check_kinds(named, "classes")
        named = np.unique(named)
        check_class_names(self.class_weight, named)
        if promised is not None and not np.array_equal(named, promised):
            raise ValueError(
                f"classes={named.tolist()[:10]} are not those of an earlier call, {promised.tolist()[:10]}: they bind "
                "for the whole stream. Leave them out in later calls."
            )
        if self._model is not None and not np.isin(self._model.classes, named).all():
            known = np.setdiff1d(self._model.classes, named)
            raise ValueError(f"classes has no {as_python(known[0])!r}, a class that the model has learned already.")
        return named if promised is None else promised

    def _is_plain(self, dtype: np.dtype, X: Any) -> bool:
        """Whether scikit-learn's checks, which take longer than a small chunk does, have nothing to do."""
        columns = self._columns
        plain = type(X) is np.ndarray and X.ndim == 2 and len(X) > 0 and "feature_names_in_" not in columns
        if not plain or X.dtype != dtype or X.shape[1] != columns["n_features_in_"]:
            return False
        return all_below(X, _USUAL)

    def _check_domain(self, X: Any) -> None:
        if isinstance(self.feature_map, str):  # a given transformer has a domain of its own
            check_domain(self.kernel, X)

    def _going_on(self, parameters: Parameters | None = None) -> WarmUpModel | StreamModel | None:
        """Return the model that learns on from here; None before the first row."""
        model, parameters = self._model, self._parameters() if parameters is None else parameters
        if isinstance(model, BatchModel):
            self._refuse_changed(_OF_EXACT_MAP if model.mapping.exact else _OF_MAP)
            if model.sums is not None:
                self._refuse_changed(_IN_SUMS)
            return stream_from(model, parameters_of(self))
        if isinstance(model, StreamModel):
            model.take_back()  # what an interrupted call may have left
            began = self._fitted().parameters
            if parameters is not began and parameters != began:
                self._refuse_changed(_FIXED)
                return model.with_options(SolverOptions(self.tol, self.max_iter, self.n_jobs))
        return model

    def _refuse_changed(self, names: Iterable[str]) -> None:
        """Raise ValueError if one of these parameters has changed since the model began to learn."""
        learned, parameters = self._fitted(), parameters_of(self)
        for name in names:
            then, now = getattr(learned.parameters, name), getattr(parameters, name)
            if then is not now and then != now:
                raise ValueError(
                    f"{name} was {then!r} when the model began to learn and is {now!r} now: that has no effect on what "
                    "was learned. Set it back, or begin a new model with the new value."
                )

    def _learn(
        self,
        model: WarmUpModel | StreamModel | None,
        rows: CheckedRows,
        columns: dict[str, Any],
        promised: Array | None,
        parameters: Parameters,
    ) -> Self:
        """Learn checked rows: done, or not done at all."""
        solves = model.n_solves if isinstance(model, StreamModel) else -1
        try:
            fresh = WarmUpModel.begin(rows, parameters) if model is None else model.learn(rows, parameters)
            if isinstance(fresh, StreamModel) and (fresh is not self._model or fresh.n_solves != solves):
                self._warn_of_gap(fresh.largest_gap)
            if isinstance(fresh, StreamModel) and not isinstance(model, StreamModel):
                self._warn_of_spread(check_spread(rows.X if model is None else model.rows.join(rows).X))
            return self._publish(fresh, columns=columns, promised=promised)
        except BaseException:
            if isinstance(model, (StreamModel, WarmUpModel)):
                model.take_back()
            raise

    def _parameters(self) -> Parameters:
        """Return the parameters as one record, the one that the model began with if nothing has changed."""
        if self._learned is not None:
            began = self._learned.parameters
            if all(map(is_, _read_parameters(self), _read_parameters(began))):
                return began
        return parameters_of(self)

    def _fitted(self) -> Learned:
        if self._learned is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'partial_fit' first."
            )
        return self._learned

    def _publish(self, model: Model, **changes: Any) -> Self:
        """Let predictions and later calls use a model, in one step; `changes` are columns and promised classes.

        That step is the last thing a call does.  An assignment and `return` let no signal through, so a call that
        raises KeyboardInterrupt has not been done.
        """
        before = self._learned
        self.__dict__.pop("_checked_columns", None)
        if before is not None and before.model is model and isinstance(model, StreamModel):
            model.publish()  # it has learned in place, so this is the last step
            return self
        if isinstance(model, StreamModel):
            model.publish()
        if before is None:
            learned = Learned(model, **{"columns": {}, "promised": None, "parameters": parameters_of(self), **changes})
        else:
            goes_on = isinstance(before.model, StreamModel) and isinstance(model, StreamModel)
            parameters = before.parameters if goes_on else parameters_of(self)
            learned = replace(before, model=model, parameters=parameters, **changes)
        self._learned = learned
        return self

    def _goes_to_device(self, X: Any, method: str) -> bool:
        """Whether rows are answered on a device: because they are there, or because the user wants it."""
        learned = self._fitted()
        if self.device is None and learned.place is None and type(X) is np.ndarray:
            return False  # one row is answered in microseconds
        learned.check_namespace(X, method)
        if self.device is None or is_foreign(X) or sp.issparse(X):
            return is_foreign(X)
        return len(np.shape(X)) == 2 and np.shape(X)[0] > SMALL  # a few rows are answered faster here

    def _from_device(self, X: Any, method: str) -> Any:
        """Return what a method answers for rows on a device, there; for rows of NumPy, here.

        What a device cannot compute, such as the answer of a committee, is computed here.
        """
        learned = self._fitted()
        answers = learned.model.answers
        possible = answers_on_device(answers, method) and len(learned.classes) == len(answers.classes)
        if not is_foreign(X):
            if not possible:
                return getattr(self._answering_here(), method)(X)
            check_device(str(self.device))
            X = self._readable(answers, X)
            parts = [
                to_numpy(answer_on_device(answers, on_device(X[part], str(self.device)), method))
                for part in tiles(0, X.shape[0], _DEVICE_TILE)
            ]
            return np.concatenate(parts)
        if not possible:
            here = getattr(self._answering_here(), method)(to_numpy(X))
            return like(here, X) if here.dtype.kind in "iufb" else here
        return answer_on_device(answers, checked_rows(X, self.n_features_in_, type(self).__name__, "highest"), method)

    def _answering_here(self) -> Self:
        """Return an estimator that shares all that was learned, and answers here."""
        probe = self._probe()
        probe.device = None
        probe._learned = replace(self._fitted(), place=None)
        return probe

    def _decide(self, answers: Answers, X: Any, rule: Callable[[Array], Array]) -> Array:
        """Map rows tile by tile and apply a rule to each tile."""
        X = self._readable(answers, X)
        if X.shape[0] <= _PREDICT_TILE:
            return rule(answers.mapped(X))
        return np.concatenate([rule(answers.mapping.rows(X[part])) for part in tiles(0, X.shape[0], _PREDICT_TILE)])

    def _readable(self, answers: Answers, X: Any) -> Any:
        """Return rows to predict, checked and in the precision of the map."""
        if not self._is_plain(answers.mapping.dtype, X):
            with clear_errors():
                X = validate_data(self, X, accept_sparse="csr", dtype=answers.mapping.dtype, reset=False)
            check_values(X)
        self._check_domain(X)
        return X

    def _learn_on_device(self, X: Any, y: Any, classes: Any, sample_weight: Any, ids: Any) -> Self | None:
        """Learn a large chunk on its device; return None if the model learns it here."""
        model, parameters = self._model, parameters_of(self)
        if self.device is not None:
            check_device(self.device)
        if ids is not None or sp.issparse(X) or np.ndim(X) != 2:
            return None
        if not learns_on_device(model, parameters, int(np.shape(X)[0])):
            return None
        self._validate_params()
        known = None if model is None else model.classes
        if model is not None:
            self._refuse_changed((*_OF_MAP, *_IN_SUMS))
        try:
            rows, columns = self._rows_on_device(X, y, sample_weight, known)
        except TooFewClasses:
            return None  # a stream takes such a chunk
        promised = self._promised(classes)
        _refuse_unpromised(rows.classes, promised)
        place = zeros((0, rows.n_columns), X) if is_foreign(X) else None
        if model is None:
            self._warn_of_spread(check_spread(some_rows(rows.X)))
            fresh = fit_on_device(parameters, rows)
        elif len(rows.classes) > len(model.classes):
            return None
        else:
            assert isinstance(model, BatchModel)
            fresh = update_on_device(model, parameters, rows)
        self._warn_of_gap(float(fresh.gaps.max()))
        return self._publish(fresh, columns=columns, promised=promised, place=place)

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        tags.input_tags.positive_only = self.kernel in ("chi2", "intersection")
        return tags


_read_parameters = attrgetter(*(field.name for field in fields(Parameters)))
_FIXED = [field.name for field in fields(Parameters) if field.name not in ANY_TIME]


def parameters_of(estimator: FBTWSVM) -> Parameters:
    """Return the parameters of an estimator as one record."""
    parameters = Parameters(*_read_parameters(estimator))
    if not isinstance(parameters.metric, str):  # arrays cannot be compared as a whole
        parameters.metric = _as_tuple(parameters.metric)
    return parameters


def _as_tuple(values: Any) -> Any:
    """Return an array as a tuple, of tuples if it has more than one axis; `check_metric` refuses what is no array."""
    try:
        array = np.asarray(values)
    except ValueError:
        return values
    items = array.tolist()
    return tuple(items) if array.ndim == 1 else tuple(map(_as_tuple, items)) if array.ndim else items


def collected_rows(estimator: FBTWSVM, X: Any, y: Any, sample_weight: Any) -> tuple[PartitionedRows, dict[str, Any]]:
    """Check the rows of a Dask collection, in one pass; return them, and the number and names of their columns."""
    if y is None:
        raise ValueError("fit needs the labels y of a Dask collection.")
    partitions = Partitions(X, y, sample_weight)
    probe = clone(estimator)
    _check_feature_names(probe, partitions.X._meta, reset=True)
    probe.n_features_in_ = partitions.n_columns
    facts = look_at(partitions, partial(_check_partition, probe), estimator.class_weight)
    return PartitionedRows(partitions, facts), probe._columns


def _check_partition(probe: FBTWSVM, X: Any, y: Any, weights: Any) -> tuple[Any, Array, Array]:
    """Check the rows of one partition, as `fit` checks all rows; return them with labels and weights."""
    X, labels, _ = probe._checked(X, np.asarray(y), first=False, dtype=[np.float64, np.float32])
    if weights is None:
        return X, labels, np.ones(len(labels))
    given = np.asarray(weights)
    if given.shape == labels.shape and not np.any(given):  # which scikit-learn refuses
        return X, labels, np.zeros(len(labels))
    return X, labels, _check_sample_weight(given, X, dtype=np.float64, ensure_non_negative=True)


def check_parameters(estimator: FBTWSVM) -> None:
    """Refuse parameters that are out of bounds, as `fit` does, before any time is spent."""
    estimator._validate_params()


def model_of(estimator: FBTWSVM) -> Model:
    """Return the model of a fitted estimator, for those that write, export or inspect it."""
    return estimator._fitted().model


def promised_classes(estimator: FBTWSVM) -> Array | None:
    """Return the classes that the user of a fitted estimator has named in `partial_fit`; None if any may come."""
    return estimator._fitted().promised


def with_model(estimator: FBTWSVM, model: Model, columns: dict[str, Any], promised: Array | None = None) -> FBTWSVM:
    """Give an estimator what it knows: a model from a file, or from a search."""
    return estimator._publish(model, columns=columns, promised=promised)


def learn_checked(estimator: FBTWSVM, rows: CheckedRows) -> None:
    """Learn rows on a stream whose values have been checked, as `partial_fit` does."""
    learned = estimator._fitted()
    estimator._check_domain(rows.X)
    check_same_kind(rows.y, learned.model.classes)
    parameters = estimator._parameters()
    estimator._learn(estimator._going_on(parameters), rows, learned.columns, learned.promised, parameters)


def finish_preparation(estimator: FBTWSVM) -> None:
    """Do at once what a stream prepares in pieces, as a model file holds it."""
    model = estimator._model
    finished = None if model is None or isinstance(model, BatchModel) else model.finished()
    if finished is not None and finished is not model:
        estimator._publish(finished)


def begin_with_map(
    estimator: FBTWSVM,
    mapping: Mapping,
    X: Any,
    y: Any,
    ids: Any = None,
    sample_weight: Any = None,
    classes: Any = None,
) -> None:
    """Learn the first rows of a stream with the map of another model, so that there is nothing to warm up for."""
    rows, columns, promised = estimator._check_stream(X, y, sample_weight, ids, classes)
    rows = rows.take(rows.weights > 0)
    stream = start_stream(rows, parameters_of(estimator), replace(mapping, frozen=True))
    estimator._publish(stream, columns=columns, promised=promised)


def _here(values: Any) -> Any:
    """Return arrays of a device as arrays of NumPy, and all else as it is."""
    return to_numpy(values) if is_foreign(values) else values


def _refuse_unpromised(y: Array, promised: Array | None) -> None:
    """Refuse labels that are not among the classes that the user has named."""
    if promised is not None and not np.isin(y, promised).all():
        raise ValueError(
            f"y holds labels that are not in the classes given to partial_fit: {np.setdiff1d(y, promised)[:5]}."
        )


def _named(rows: CheckedRows, ids: Any) -> CheckedRows:
    """Give rows their ids, if there are any."""
    if ids is None:
        return rows
    names = checked_ids(ids)
    if len(names) != len(rows):
        raise ValueError(f"ids must be given for every row: there are {len(names)} for {len(rows)} rows.")
    return replace(rows, ids=names)


def _stored_like(model: Model | None, X: Any) -> Any:
    """Return rows dense or sparse, as the model stores rows: those of a stream must not be of both kinds."""
    held = model.rows.X if isinstance(model, WarmUpModel) else None if model is None else model.mapping.landmark_rows
    if held is None or sp.issparse(held) == sp.issparse(X):
        return X
    return sp.csr_matrix(X) if sp.issparse(held) else X.toarray()


def checked_ids(ids: Any) -> Array:
    """Return ids as an array of objects; refuse equal ones, and rows without one."""
    if isinstance(ids, (str, bytes)) or not hasattr(ids, "__iter__"):
        raise ValueError(f"ids must be a sequence of ids, not {ids!r}: ids=[{ids!r}].")
    given = [as_python(name) for name in ids]
    names = np.empty(len(given), dtype=object)
    names[:] = given
    if not all(isinstance(name, Hashable) for name in given):
        raise ValueError("ids must be texts, numbers or other values that can be keys of a dictionary.")
    gap = next((row for row, name in enumerate(given) if is_gap(name)), None)
    if gap is not None:
        raise ValueError(f"ids must name every row: that of row {gap} is {given[gap]}.")
    different = set(given)
    if len(different) < len(given):
        name, count = Counter(given).most_common(1)[0]
        raise ValueError(
            f"ids must all be different, but {name!r} is there {count} times. If a person has several rows, number "
            f"them, such as f'{{person}}-{{i}}'."
        )
    return names


def _are_plain_labels(y: Any, X: Array) -> bool:
    """Whether labels are integers, one for each row."""
    return isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "iub" and len(y) == len(X)
