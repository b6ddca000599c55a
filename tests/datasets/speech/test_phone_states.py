"""Thirds of phones, moment by moment."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.datasets.readers.audio import Phone
from eigenbench.datasets.speech.phone_states import phone_states


@st.composite
def phone_lists(draw):
    phones, end = [], 0
    for number in range(draw(st.integers(1, 6))):
        start = end + draw(st.integers(0, 3))
        end = start + draw(st.integers(1, 20))
        phones.append(Phone(start, end, f"p{number}"))
    return phones


@given(phone_lists())
def test_every_moment_has_the_phone_and_the_third_that_cover_it(phones):
    moments = np.arange(phones[-1].end + 3)
    labels, covered = phone_states(phones, moments)
    for moment in moments.tolist():
        over = [phone for phone in phones if phone.start <= moment < phone.end]
        assert covered[moment] == bool(over)
        if over:
            third = 1 + int(3 * (moment - over[0].start) / (over[0].end - over[0].start))
            assert labels[moment] == f"{over[0].label}_{third}"
