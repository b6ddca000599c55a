"""Classification with very many labels: embed, predict the embedding, decode it by logistic regression."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter

from eigenbench.methods.classifiers.label_decoder import Choice, LabelDecoder, whitening_ridge
from eigenbench.methods.classifiers.logistic_decoder import (
    LOGIT_BYTES,
    LabelledPart,
    Targets,
    WhitenedFeatures,
)
from eigenbench.methods.classifiers.many_labels import ManyLabelClassifier
from eigenbench.methods.classifiers.row_weights import (
    CLASS_WEIGHTS,
    nested_fit_arguments,
    routing_to,
    with_class_weights,
)
from eigenbench.methods.classifiers.second_order_logistic import hand_over, has_defaults
from eigenbench.methods.classifiers.streamed import EarlyStopping
from eigenbench.methods.embeddings.labels.rembrandt import Rembrandt
from eigenbench.methods.embeddings.labels.spectral_label_embedding import (
    LabelEmbedding,
    is_indicator,
    label_matrix,
)
from eigenbench.methods.linalg.ridge_system import gram_system
from eigenbench.methods.linalg.row_blocks import (
    FeatureBlocks,
    checked_weights,
    dense_block,
    row_slices,
    rows_that_count,
    validated,
)
from eigenbench.methods.parameter_constraints import (
    BELOW_ONE,
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_INTEGER,
    HasMethods,
    Interval,
    StrOptions,
)

#: Components of the embedding by default.
N_COMPONENTS = 50

#: Parameters of the embedding and its decoder: who sets one wants them.
_OF_DECODER = (
    *("embedding", "feature_map", "max_iter", "learning_rate", "batch_size", "sampled_labels"),
    *("early_stopping", "n_iter_no_change", "refit", "cache_size"),
)


class LabelEmbeddingClassifier(EarlyStopping, ManyLabelClassifier):
    r"""Predict an embedding of the labels (or of the inputs) and decode it by logistic regression.

    The steps of [1]_, Algorithm 3: fit an embedding R of the labels; regress YR on X; map the predicted
    embedding :math:`\hat a` to random features :math:`\varphi(\hat a)` if so wished; fit the log loss of
    :math:`\varphi(\hat a) Q` by stochastic gradients and stop when it no longer improves on held-out rows.
    Neither the embedding nor the feature map sees the labels of those rows; afterwards both are fitted
    again on all rows, and the decoder for as many epochs as were best.

    Parameters
    ----------
    embedding : transformer or None, default=None
        A label embedding (:class:`Rembrandt`, :class:`PLST`, :class:`CompressedSensing`) or any transformer
        of X, such as :class:`sklearn.decomposition.PCA`; a clone is fitted to (X, Y). None stands for
        ``Rembrandt`` with 50 components, or as many as there are labels; see also ``few_rows``.
        :class:`sklearn.frozen.FrozenEstimator` keeps a fitted one; if it saw held-out rows, their loss is
        optimistic.
    feature_map : transformer or None, default=None
        Maps embedded rows to features, for example :class:`RandomFourierFeatures`, whose length scale is
        then relative to their median distance. None decodes the embedding linearly.
    few_rows : int, default=5000
        Up to so many rows of at most 50 classes are decoded as they are, by :class:`SecondOrderLogistic` with
        its defaults, if no embedding, feature map or parameter of the decoder is set; the curves are then its
        own. 0 for never.
    loss : {"auto", "multinomial", "independent"}, default="auto"
        Log loss of one label per row, or of each label on its own; "auto" takes the former for class labels
        and the latter for an indicator matrix.
    max_iter : int, default=30
        Largest number of epochs of the decoder. Its steps shrink linearly to zero over them.
    learning_rate : float or "auto", default="auto"
        First step length for minibatches of 512 rows; it falls with the square root of their size. "auto"
        takes 0.03, and longer steps if there are few in all; where the held-out loss is smallest after one of
        the first two epochs it starts again with a quarter of the length, up to three times while that lowers
        the loss.
    batch_size : int or "auto", default="auto"
        Rows of a minibatch; "auto" takes 1/200 of the rows, but at least 32 and at most 512.
    sampled_labels : int or None, default=None
        With one label a row: how many labels are drawn for each minibatch, beside those of its rows, for its
        softmax, in which they stand for all. For tens of thousands of labels; None takes all of them.
    early_stopping : bool, default=True
        Whether to hold out rows and choose the number of epochs and the threshold on them. Otherwise
        ``max_iter`` epochs are done and a ``threshold`` named by a metric is ½.
    validation_fraction, n_iter_no_change
        As for :class:`StochasticLogistic`, by default 0.1 and 5.
    refit : bool, default=True
        Whether to fit again on all rows afterwards, with what was chosen, for about twice the time.
    threshold : {"micro_f1", "hamming_loss"} or float in (0, 1), default="micro_f1"
        For an indicator matrix: labels of at least this probability are predicted. A name has it chosen on
        the held-out rows, one for all labels.
    class_weight : dict, "balanced" or None, default=None
        With one label a row: weights of the classes, which multiply those of the rows but in the embedding.
    cache_size : float, default=1000
        Memory for features kept between epochs, in MB; others are made again for each minibatch.
    random_state : int, RandomState instance or None, default=None
        Seed of the held-out rows, of the order of rows, and of an embedding or feature map that has none.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        Class labels, or column numbers of the indicator matrix.
    embedding_, feature_map_ : transformer
        The fitted ones; ``feature_map_`` is None without a map, ``embedding_`` where rows are decoded as they
        are. A label embedding that was fitted here has lost its ``embedding_`` (c, k).
    coef_ : ndarray of shape (c, D), float32
        Weights Q of the features.
    intercept_ : ndarray of shape (c,), float32
        Intercepts.
    threshold_ : float or None
        The threshold used; None for class labels.
    temperature_ : float
        Number by which logits were divided for the least log loss of held-out rows of one label each.
    n_iter_ : int
        Epochs of the decoder that is used.
    loss_curve_, validation_curve_ : ndarray
        Mean log loss per row in nats after each epoch of the fit that chose ``n_iter_``: of training rows as
        they were met, and of held-out rows (NaN without any).
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    The optimiser is Adam on minibatches in whitened coordinates, with the ridge that
    :class:`StochasticLogistic` takes by default; with weights of rows its objective is the weighted mean of
    the losses, that of repeated rows, of which others are held out and drawn.

    Time: the embedding; D³/3 + n·D² once to whiten; 4·n·D·c flops for each epoch, or 4·n·D·(b + s) with
    minibatches of b rows and s sampled labels, whose losses are estimates. Memory: 24·D·c bytes, kept
    features, a copy of the rows that are not held out, 4·n·k bytes while a feature map is fitted, and blocks
    of 16 MB. ``predict`` and ``predict_top_k`` never hold scores of all rows.

    References
    ----------
    .. [1] P. Mineiro and N. Karampatziakis, "Fast Label Embeddings via Randomized Linear Algebra",
       ECML PKDD 2015, Algorithm 3.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenbench import LabelEmbeddingClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LabelEmbeddingClassifier(random_state=0).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.9)
    True
    """

    embedding_: Any
    coef_: np.ndarray
    intercept_: np.ndarray

    # The feature map is applied to the embedding.
    _maps_rows: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **EarlyStopping._parameter_constraints,
        "embedding": [HasMethods(["fit", "transform"]), None],
        "feature_map": [HasMethods(["fit", "transform"]), None],
        "few_rows": [Interval(Integral, 0, None, closed="left")],
        "loss": [StrOptions({"auto", "multinomial", "independent"})],
        "max_iter": [POSITIVE_INTEGER],
        "learning_rate": [POSITIVE, StrOptions({"auto"})],
        "batch_size": [POSITIVE_INTEGER, StrOptions({"auto"})],
        "sampled_labels": [POSITIVE_INTEGER, None],
        "refit": ["boolean"],
        "threshold": [StrOptions({"micro_f1", "hamming_loss"}), BELOW_ONE],
        "class_weight": CLASS_WEIGHTS,
        "cache_size": [NOT_NEGATIVE],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        embedding: Any = None,
        *,
        feature_map: Any = None,
        few_rows: int = 5000,
        loss: str = "auto",
        max_iter: int = 30,
        learning_rate: float | str = "auto",
        batch_size: int | str = "auto",
        sampled_labels: int | None = None,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        refit: bool = True,
        threshold: str | float = "micro_f1",
        class_weight: Any = None,
        cache_size: float = 1000,
        random_state: Any = None,
    ) -> None:
        self.embedding = embedding
        self.feature_map = feature_map
        self.few_rows = few_rows
        self.loss = loss
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.sampled_labels = sampled_labels
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.refit = refit
        self.threshold = threshold
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.random_state = random_state

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of weights: to the classifier itself, and on to the embedding."""
        return routing_to(self, "embedding")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LabelEmbeddingClassifier:
        """Fit embedding, feature map and decoder.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Training rows.
        y : array-like of shape (n_samples,), or {array-like, sparse matrix} of shape (n_samples, c)
            Class labels, at least two different ones, or an indicator matrix of zeros and ones.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0: in the losses and the moments of the whitening a row of weight 2 counts as two rows;
            its ridge goes by the number of rows. An embedding whose ``fit`` takes none sees every row of
            positive weight once.

        Returns
        -------
        LabelEmbeddingClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If y is neither or of one class, if ``loss="multinomial"`` and a row has not exactly one label, if
            ``class_weight`` is set with an indicator matrix, if a weight is negative, or if the data hold NaN
            or infinity.
        """
        self._validate_params()
        X, Y = validated(self, X, y, **self._row_checks, multi_output=True)
        X, Y, weights = rows_that_count(X, Y, checked_weights(sample_weight, X))
        labels, self.classes_ = label_matrix(Y, np.float32)
        self._remember_targets(Y, multilabel=is_indicator(Y))
        self.loss_ = self._checked_loss(labels)
        self.threshold_ = self._initial_threshold()
        in_loss = with_class_weights(self.class_weight, self.classes_, labels.indices, weights)
        rows = LabelledPart(X, Y if self._multilabel else np.ravel(Y), weights, Targets(labels, in_loss))
        self.temperature_ = np.float32(1)
        if self._needs_no_embedding(len(labels.indptr) - 1):
            self._decode_rows(rows)
            return self
        rng = check_random_state(self.random_state)
        strata = np.zeros(X.shape[0], dtype=np.int64) if self._multilabel else labels.indices
        held_out = self._held_out(strata, rng)
        seed = int(rng.randint(np.iinfo(np.int32).max))
        if not held_out.any():
            self._train(rows, None, seed)
            return self
        unseen = rows.at(np.flatnonzero(held_out))
        choice = self._train(rows.at(np.flatnonzero(~held_out)), unseen, seed)
        self.temperature_ = self._temperature(unseen.X, unseen.targets)
        curves = self.loss_curve_, self.validation_curve_
        if self.refit:
            self._train(rows, None, seed, choice)
        self.loss_curve_, self.validation_curve_ = curves
        self.coef_ /= self.temperature_
        self.intercept_ /= self.temperature_
        return self

    def _needs_no_embedding(self, n_rows: int) -> bool:
        one_of_few = self.loss_ == "multinomial" and len(self.classes_) <= N_COMPONENTS
        few = one_of_few and not self._multilabel and n_rows <= self.few_rows
        return few and has_defaults(self, *_OF_DECODER)

    def _decode_rows(self, rows: LabelledPart) -> None:
        """Fit the logits to rows as they are, by full gradients."""
        model = hand_over(self, rows.X, rows.targets.labels.indices, rows.targets.weights)
        self.embedding_ = self.feature_map_ = None
        coef, intercept = model.coef_, model.intercept_
        if len(coef) == 1:
            coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
        self.coef_, self.intercept_ = coef.astype(np.float32), intercept.astype(np.float32)

    def _train(
        self, rows: LabelledPart, held_out: LabelledPart | None, seed: int, choice: Choice | None = None
    ) -> Choice:
        """Fit everything, by a choice; without one make it and choose the threshold, if rows are held out."""
        self._fit_features(rows, seed)
        weights = rows.targets.weights
        system = gram_system(FeatureBlocks(rows.X, self._features_of()), weights)
        if choice is None:
            n_rows = rows.X.shape[0] if weights is None else np.count_nonzero(weights)
            choice = Choice(whitening_ridge(int(n_rows), len(system.mean)), 1.0, self.max_iter)
        system.factor(choice.ridge * system.n_rows)
        whitened = partial(WhitenedFeatures, system=system, cache_size=self.cache_size)
        seen = whitened(rows.X, self._features_of()), rows.targets.normalised()
        decoder = LabelDecoder(
            *(self.loss_, self.max_iter, self.learning_rate, self.batch_size),
            *(self.sampled_labels, self.n_iter_no_change),
        )
        part = choice.part
        if held_out is None:
            found = decoder.descended(seen, None, choice.n_epochs, seed, part)
        else:
            unseen = whitened(held_out.X, self._features_of()), held_out.targets.normalised()
            found, part = decoder.chosen(seen, unseen, seed)
            del unseen
        del seen
        self.n_iter_ = found.best_epoch
        self.loss_curve_, self.validation_curve_ = found.losses, found.held_out_losses
        coef, shift = system.unwhiten(found.weights[:-1])
        self.coef_ = np.ascontiguousarray(coef.T, dtype=np.float32)
        self.intercept_ = (found.weights[-1] + shift).astype(np.float32)
        if held_out is not None and self._multilabel and isinstance(self.threshold, str):
            self.threshold_ = self._chosen_threshold(held_out.X, held_out.targets)
        return Choice(choice.ridge, part, found.best_epoch)

    def _fit_features(self, rows: LabelledPart, seed: int) -> None:
        """Set ``embedding_`` and ``feature_map_`` to clones fitted on the rows."""
        embedding, weighed = self.embedding, {}
        if embedding is None:
            embedding = Rembrandt(min(N_COMPONENTS, rows.targets.labels.shape[1]))
        else:
            weighed = nested_fit_arguments(self, "embedding", rows.weights)
        self.embedding_ = _seeded(embedding, seed).fit(rows.X, rows.Y, **weighed)
        if isinstance(self.embedding_, LabelEmbedding):
            del self.embedding_.embedding_
        self.feature_map_ = None
        if self.feature_map is not None:
            self.feature_map_ = _seeded(self.feature_map, seed).fit(self.embedding_.transform(rows.X))

    def _features_of(self) -> Any:
        """Return what makes features of rows, None where they are used as they are."""
        if self.feature_map_ is None:
            return self.embedding_
        return make_pipeline(self.embedding_, self.feature_map_)

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        features_of = self._features_of()
        c, D = self.coef_.shape
        for here in row_slices(X.shape[0], 4 * max(c, D), LOGIT_BYTES):
            features = X[here] if features_of is None else features_of.transform(X[here])
            yield here, dense_block(features, np.float32) @ self.coef_.T + self.intercept_


def _seeded(estimator: Any, seed: int) -> Any:
    """Return a clone that is repeatable: parameters called ``random_state`` that are None get the seed."""
    params = estimator.get_params(deep=True).items()
    unset = [name for name, value in params if value is None and name.split("__")[-1] == "random_state"]
    twin = clone(estimator)
    twin.set_params(**dict.fromkeys(unset, seed))
    return twin
