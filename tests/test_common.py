"""scikit-learn's own contract, without exceptions, for the estimator and every transformer."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fbtwsvm import FBTWSVM, FBTWSVMCV, TableClassifier
from fbtwsvm.features import AdditiveIntersectionFeatures, ExactKernel, FourierFeatures, NystroemFeatures


@parametrize_with_checks(
    [
        FBTWSVM(),
        FBTWSVM(kernel="linear"),
        FBTWSVM(multiclass="vote", membership="printed", mu=0.1),
        FBTWSVM(feature_map="nystroem", n_components=3, gamma="scale"),
        FBTWSVM(feature_map="fourier", n_components=40),
        FBTWSVMCV(gamma=[0.01, 0.1], C=[1.0], reg=[0.01], membership=None, cv=2, random_state=0),
        TableClassifier(),
        TableClassifier(FBTWSVM(kernel="linear"), dtype="float32"),
        FourierFeatures(),
        FourierFeatures(orthogonal=True),
        NystroemFeatures(),
        NystroemFeatures(landmarks="leverage"),
        NystroemFeatures(landmarks="kmeans"),
        ExactKernel(),
        AdditiveIntersectionFeatures(),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)
