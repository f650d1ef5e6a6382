"""Choose the parameters of the kernel: gamma and the metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .._arrays import Array
from .._steps import Steps, finish, one_thread_each
from ..features.kernels import check_metric
from ..model.settings import Parameters
from .choose_gamma import choose_gamma
from .choose_metric import learn_metric
from .trial_rows import TrialRows


@dataclass(frozen=True)
class KernelChoice:
    """The gamma and the factors of the columns that a fit uses, and the number of rounds in which these were learned.

    None: the kernel has no gamma, or all columns count alike.
    """

    gamma: float | None
    metric: Array | None = None
    rounds: int = 0


def choose_kernel(parameters: Parameters, trial: TrialRows, *, quick: bool = False) -> KernelChoice:
    """Return gamma and metric: as given, or chosen by trials, which `quick` does not make."""

    def usual(metric: Array | None) -> Steps[float | None]:
        yield
        return choose_gamma(parameters, trial, metric=metric, quick=quick)

    return finish(kernel_steps(parameters, trial, usual, quick=quick))


def kernel_steps(
    parameters: Parameters,
    trial: TrialRows,
    gamma_in: Callable[[Array | None], Steps[float | None]],
    *,
    quick: bool = False,
) -> Steps[KernelChoice]:
    """Return gamma and metric in pieces; `gamma_in` returns the gamma that suits a metric."""
    metric = given_metric(parameters, trial.all.X.shape[1])
    gamma = yield from gamma_in(metric)
    if gamma is None or metric is not None or quick or not learns_metric(parameters) or trial.all.n_classes < 2:
        return KernelChoice(gamma, metric)
    always, any_gamma = parameters.metric == "columns", parameters.gamma == "auto"
    learned = yield from one_thread_each(
        learn_metric(trial, str(parameters.kernel), gamma, always=always, any_gamma=any_gamma)
    )  # the matrices are small
    if learned is None:
        return KernelChoice(gamma)
    return KernelChoice((yield from gamma_in(learned.factors)), learned.factors, learned.rounds)


def learns_metric(parameters: Parameters) -> bool:
    """Whether a metric is learned, or tried.

    "auto" tries one together with gamma="auto": any other gamma is meant for the columns as they are.
    """
    if not isinstance(parameters.metric, str) or not parameters.uses_gamma:
        return False
    return parameters.metric == "columns" or (parameters.metric == "auto" and parameters.gamma == "auto")


def given_metric(parameters: Parameters, n_columns: int) -> Array | None:
    """Return the factors of the columns that the user gives; None if none are given."""
    if isinstance(parameters.metric, str):
        if parameters.metric == "columns" and not parameters.uses_gamma:
            raise ValueError(
                "metric='columns' exists for the kernels rbf and laplacian, with a feature map that is given by name: "
                "use metric='auto' or 'none'."
            )
        return None
    if not parameters.names_map:
        raise ValueError("metric cannot be given beside a feature map of your own: use metric='auto' or 'none'.")
    return check_metric(parameters.metric, parameters.kernel, n_columns)
