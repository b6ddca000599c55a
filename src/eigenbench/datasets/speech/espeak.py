"""The speech synthesiser eSpeak NG, which says where each of its phones begins."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SYNCHRONOUS, _CHARACTER_POSITION, _UTF8 = 2, 1, 1
_PHONE_EVENTS, _DONT_EXIT = 1, 1 << 15
_PHONE_EVENT = 7
_RATE, _PITCH, _RANGE = 1, 3, 4


class _Id(ctypes.Union):
    _fields_ = (("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8))


class _Event(ctypes.Structure):
    """As ``espeak_EVENT`` in speak_lib.h."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _Id),
    )


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event)
)


@dataclass(frozen=True)
class Voice:
    """How a speaker sounds.

    Attributes
    ----------
    accent : str
        A kind of English, such as ``en-us``.
    variant : str
        A colour of the voice, such as ``f2``.
    words_per_minute : int
    pitch, pitch_range : int
        From 0 to 100.
    """

    accent: str
    variant: str
    words_per_minute: int
    pitch: int
    pitch_range: int


class Espeak:
    """One synthesiser; a process can have only one.

    Its noise comes from a generator that goes on from sentence to sentence, so sound is repeatable only when
    a fresh process says the same sentences in the same order.

    Raises
    ------
    ImportError
        If the package espeakng-loader, which brings the library, is not installed.
    """

    def __init__(self) -> None:
        loader = import_module("espeakng_loader")
        self._library = ctypes.CDLL(loader.get_library_path())
        data = Path(loader.get_data_path())
        self._variants = data / "voices" / "!v"
        options = _PHONE_EVENTS | _DONT_EXIT
        #: Samples a second.
        self.rate = self._library.espeak_Initialize(_SYNCHRONOUS, 0, str(data).encode(), options)
        if self.rate <= 0:
            raise RuntimeError("eSpeak NG can't be started")
        self._sound: list[NDArray[np.int16]] = []
        self._phones: list[tuple[int, str]] = []
        self._callback = _Callback(self._receive)  # the library keeps no reference of its own
        self._library.espeak_SetSynthCallback(self._callback)

    def say(self, text: str, voice: Voice) -> tuple[NDArray[np.int16], list[tuple[int, str]]]:
        """Return the sound of a sentence, and the first sample and the name of each phone.

        Stress marks are taken off the names; pauses begin with ``_``.
        """
        name = f"{voice.accent}+{voice.variant}"
        # The library takes an unknown variant for none.
        known = (self._variants / voice.variant).is_file()
        if not known or self._library.espeak_SetVoiceByName(name.encode()) != 0:
            raise ValueError(f"eSpeak NG has no voice {name!r}")
        parameters = {_RATE: voice.words_per_minute, _PITCH: voice.pitch, _RANGE: voice.pitch_range}
        for parameter, value in parameters.items():
            self._library.espeak_SetParameter(parameter, value, 0)
        self._sound.clear()
        self._phones.clear()
        data = text.encode()
        self._library.espeak_Synth(data, len(data) + 1, 0, _CHARACTER_POSITION, 0, _UTF8, None, None)
        return np.concatenate(self._sound or [np.empty(0, np.int16)]), list(self._phones)

    def _receive(self, wave: Any, n_samples: int, events: Any) -> int:
        if n_samples > 0:
            self._sound.append(np.ctypeslib.as_array(wave, (n_samples,)).copy())
        position = 0
        while events[position].type != 0:
            event = events[position]
            if event.type == _PHONE_EVENT and event.id.string:
                self._phones.append((event.sample, event.id.string.decode().strip("',")))
            position += 1
        return 0
