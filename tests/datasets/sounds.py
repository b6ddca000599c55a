"""Files of sound, made field by field."""

import io
import wave


def riff(samples, channels=1, width=2, rate=16000):
    """Return a ``.wav`` file."""
    data = io.BytesIO()
    with wave.open(data, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(width)
        sound.setframerate(rate)
        sound.writeframes(samples.astype("<i2").tobytes())
    return data.getvalue()


def sphere(samples, order="<i2", size=1024, **changes):
    """Return a NIST SPHERE file; ``changes`` replace header fields, None takes one out."""
    fields = {
        "database_id": "-s5 TIMIT",
        "channel_count": "-i 1",
        "sample_count": f"-i {len(samples)}",
        "sample_rate": "-i 16000",
        "sample_n_bytes": "-i 2",
        "sample_byte_format": "-s2 01" if order == "<i2" else "-s2 10",
        "sample_gain": "-r 1.0",
    } | changes
    text = "".join(f"{name} {value}\n" for name, value in fields.items() if value)
    header = f"NIST_1A\n{size:>7}\n{text}end_head\n".encode()
    return header.ljust(size) + samples.astype(order).tobytes()
