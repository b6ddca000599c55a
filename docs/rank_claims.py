"""The support of a claim of which_embedding.md: does one method rank before another, whatever the rivals?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eigenbench.comparison.rank_intervals import N_RESAMPLES, resample_weights
from eigenbench.comparison.ranks import complete_table


def rank_claim_support(
    errors: pd.DataFrame, better: str, worse: str, *, n_resamples: int = N_RESAMPLES
) -> float:
    """Compute how surely one method ranks before another, whichever rivals compete.

    A third method moves the difference of their mean ranks by the share of datasets on which it lies between
    them, for or against. The least favourable pool of rivals is therefore all that move it against the claim,
    and no pool has to be tried. Returns the share of resamples of the datasets in which ``better`` has the
    lower mean rank in every pool; 0 where it has not on the datasets as they are. A page may state the claim
    from .95 on.
    """
    table = complete_table(errors)
    first, second = table[better].to_numpy(), table[worse].to_numpy()
    rivals = table.drop(columns=[better, worse]).to_numpy()
    own = _signs(first, second)
    moves = (_signs(first[:, None], rivals) - _signs(second[:, None], rivals)) / 2
    everything = np.vstack([np.full(len(table), 1 / len(table)), resample_weights(len(table), n_resamples)])
    worst = everything @ own + np.maximum(0, everything @ moves).sum(axis=1)
    return float(np.mean(worst[1:] < -1e-9)) if worst[0] < -1e-9 else 0.0


def _signs(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the signs of differences of errors; two failures are alike."""
    return np.subtract(first > second, first < second, dtype=np.float64)
