"""Every embedding keeps scikit-learn's contract."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenbench import GEM, RandomDirections, SignedPowers


@parametrize_with_checks(
    [
        GEM(),
        GEM(pairs="hypercube", denominator="covariance"),
        GEM(pairs="nearest"),
        RandomDirections(),
        SignedPowers(),
        SignedPowers(offset=1),
    ]
)
def test_contract(estimator, check):
    check(estimator)
