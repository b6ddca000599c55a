import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression

from eigenbench.methods.model_file import load_model, save_model
from eigenbench.methods.peers.one_vs_rest import OneVsRestLogistic


def test_each_label_has_the_model_it_would_have_alone():
    X, Y = make_multilabel_classification(200, 8, n_classes=4, random_state=0)
    probabilities = OneVsRestLogistic(C=0.3).fit(csr_array(X), csr_array(Y)).predict_proba(csr_array(X))
    for label, y in enumerate(Y.T):
        alone = LogisticRegression(C=0.3, max_iter=200).fit(X, y).predict_proba(X)[:, 1]
        np.testing.assert_allclose(probabilities[:, label], alone, atol=1e-3)


def test_a_label_that_no_row_has_is_never_probable_and_no_obstacle_to_a_file(recwarn, tmp_path):
    X, Y = make_multilabel_classification(100, 8, n_classes=4, random_state=0)
    Y[:, 2] = 0
    model = OneVsRestLogistic().fit(X, Y)
    assert model.predict_proba(X)[:, 2].max() == 0
    assert not [warning for warning in recwarn if "present in all" in str(warning.message)]
    save_model(tmp_path / "model.skops", model)
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_labels_beyond_the_range_of_bytes_have_their_own_models():
    rng = np.random.RandomState(0)
    X = rng.randn(60, 300)
    Y = csr_array(X > 1, dtype=np.uint8)
    decided = OneVsRestLogistic(C=100.0).fit(X, Y).predict_proba(X) > 0.5
    assert np.mean(decided == Y.toarray()) > 0.99
