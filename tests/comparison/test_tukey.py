import numpy as np
import pytest
from scipy import stats

from eigenbench.comparison.tukey import moderated_variances, range_p_value, range_quantile


@pytest.mark.parametrize(("m", "freedom"), [(2, 1), (2, 4), (5, 2), (8, 20), (42, 100), (3, np.inf)])
def test_ranges_are_those_of_scipy(m, freedom):
    places = np.array([0.5, 2.0, 4.0, 7.0])
    expected = stats.studentized_range.sf(places, m, freedom)
    np.testing.assert_allclose(range_p_value(places, m, freedom), expected, atol=5e-5)
    quantile = range_quantile(0.05, m, freedom)
    assert stats.studentized_range.sf(quantile, m, freedom) == pytest.approx(0.05, abs=2e-5)


def test_each_error_has_its_own_freedom():
    found = range_quantile(0.05, 6, [4, 9, 4])
    assert found[0] == found[2] == pytest.approx(range_quantile(0.05, 6, 4))
    assert found[1] == pytest.approx(range_quantile(0.05, 6, 9))


def test_variances_that_differ_by_chance_become_one():
    generator = np.random.default_rng(0)
    given = 3.0 * generator.chisquare(4, 200) / 4
    found, freedom = moderated_variances(given, np.full(200, 4))
    assert np.ptp(found) < 0.2 * np.ptp(given)
    assert found.mean() == pytest.approx(3.0, rel=0.15)
    assert (freedom > 40).all()


def test_the_prior_is_found_again():
    """Variances from a scaled inverse chi-squared distribution of 6 degrees of freedom around 2."""
    generator = np.random.default_rng(1)
    true = 2.0 * 6 / generator.chisquare(6, 4000)
    given = true * generator.chisquare(9, 4000) / 9
    found, freedom = moderated_variances(given, np.full(4000, 9))
    np.testing.assert_allclose(freedom, 15, rtol=0.1)
    np.testing.assert_allclose(found, (6 * 2.0 + 9 * given) / 15, rtol=0.05)
    assert np.mean((found - true) ** 2) < np.mean((given - true) ** 2)


def test_freedom_is_never_more_than_there_is():
    _, freedom = moderated_variances([1.0, 1.0, 1.0], [4, 4, 4])
    assert (freedom == 12).all()


def test_methods_without_variance_share_that_of_the_others():
    found, _ = moderated_variances([0.0, 1.0, 1.2, 0.8], np.full(4, 4))
    assert (found > 0).all()
    assert moderated_variances([0.0, 0.0, 0.0], np.full(3, 4))[0].tolist() == [0, 0, 0]
