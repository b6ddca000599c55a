"""Which state of which phone a moment of a recording belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eigenbench.datasets.readers.audio import Phone

N_STATES = 3


def phone_states(
    phones: Sequence[Phone], moments: NDArray[np.int64]
) -> tuple[NDArray[np.str_], NDArray[np.bool_]]:
    """Label moments with phone and third of the phone.

    Hidden Markov models give phones three states, begin, middle and end. Here they are thirds of equal
    length, since no alignment comes with the data.

    Parameters
    ----------
    phones : sequence of Phone
        Not overlapping, in order of time, at least one.
    moments : ndarray of shape (n,), int64
        Sample numbers.

    Returns
    -------
    labels : ndarray of shape (n,), str
        ``"aa_1"`` to ``"aa_3"`` for the phone ``aa``; arbitrary where ``covered`` is False.
    covered : ndarray of shape (n,), bool
        Whether a phone covers the moment.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench.datasets.readers.audio import Phone
    >>> phone_states([Phone(0, 300, "h#"), Phone(300, 360, "b")], np.array([50, 299, 330, 400]))[0].tolist()
    ['h#_1', 'h#_3', 'b_2', 'b_3']
    """
    starts = np.array([phone.start for phone in phones])
    ends = np.array([phone.end for phone in phones])
    names = np.array([f"{phone.label}_{state + 1}" for phone in phones for state in range(N_STATES)])
    phone = np.maximum(np.searchsorted(starts, moments, side="right") - 1, 0)
    third = N_STATES * (moments - starts[phone]) // (ends[phone] - starts[phone])
    labels = names[N_STATES * phone + np.clip(third, 0, N_STATES - 1)]
    return labels, (moments >= starts[phone]) & (moments < ends[phone])
