"""The formats that a catalogue entry can name: which reader, with which options."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from eigenbench.datasets.strict_model import StrictModel


class PlainFormat(StrictModel):
    """A format without options; its reader describes the files."""

    reader: Literal[
        "arff",
        "arrays",
        "idx",
        "emnist",
        "r_matrix",
        "r_mldr",
        "pickled_arrays",
        "svmlight",
        "matrix_and_labels",
        "handwritten_letters",
        "xmc",
        "lshtc",
        "hmc",
        "planted_labels",
    ]


def _one_ascii(delimiter: str) -> str:
    if not delimiter.isascii() or delimiter in "\0\r\n":
        raise ValueError(f"{delimiter!r} is no ASCII character that can stand between two values")
    return delimiter


class TableFormat(StrictModel):
    """Delimited text with labels in the first or last column; ``one_hot`` codes the others as categories."""

    reader: Literal["table"]
    delimiter: Annotated[str, Field(min_length=1, max_length=1), AfterValidator(_one_ascii)] = ","
    label: Literal["first", "last"] = "last"
    one_hot: bool = False


class PgmFormat(StrictModel):
    """A tar of pgm images, of which squares of ``block`` x ``block`` pixels are averaged into one."""

    reader: Literal["pgm_tar"]
    block: Annotated[int, Field(gt=0)] = 1


class RFrameFormat(StrictModel):
    """R's data frame of numbers, a label factor, and a factor whose levels begin with the part and a dot."""

    reader: Literal["r_frame"]
    label: str
    part_column: str


class OrangeFormat(StrictModel):
    """A table of Orange: the continuous columns, or the words of the column ``text``, and a column of labels.

    The words are counted by their hash in as many columns as features are expected.
    """

    reader: Literal["orange_table"]
    label: str
    text: str | None = None


class VwFormat(StrictModel):
    """Vowpal Wabbit text, ``label | index:value …``, with indices from ``first_index``."""

    reader: Literal["vw"]
    first_index: Literal[0, 1] = 1


class MatFormat(StrictModel):
    """A MATLAB 5 file with one matrix of features and one of labels, by the names of the variables.

    ``image`` is height and width of the images that the rows hold column by column, as MATLAB does; they are
    turned to row by row.
    """

    reader: Literal["mat"]
    features: str = "X"
    labels: str = "Y"
    image: tuple[int, int] | None = None


class SpeechFormat(StrictModel):
    """Recordings in TIMIT's layout; ``test_speakers`` is which of TIMIT's lists the test part follows."""

    reader: Literal["speech_corpus"]
    test_speakers: Literal["core_test", "development"]


class PartitionsFormat(StrictModel):
    """Parquet or .npy files in partitions, of which those for training are never read as a whole.

    ``target`` is the label column: its name in Parquet, its number in .npy files, by default the last.
    """

    reader: Literal["partitions"]
    target: str | int | None = None


class GisetteFormat(StrictModel):
    """GISETTE rebuilt from the four idx files of MNIST, with the draws of a seed."""

    reader: Literal["gisette_rebuilt"]
    seed: Annotated[int, Field(ge=0)]


def _distinct(characters: str) -> str:
    if len(set(characters)) != len(characters):
        raise ValueError("a character occurs twice")
    return characters


def _ascending(pair: tuple[float, float]) -> tuple[float, float]:
    if not 0 < pair[0] <= pair[1]:
        raise ValueError(f"{pair} is not a range of positive factors")
    return pair


class Alphabet(StrictModel):
    """Characters to print, and how many images of each."""

    characters: Annotated[str, Field(min_length=2), AfterValidator(_distinct)]
    images: Annotated[int, Field(gt=0)]


class PrintedFormat(StrictModel):
    """Images of the characters of a font, rotated by any angle or scaled by a factor between two at random.

    ``train`` and ``test`` are what each part shows; with a random split, the characters of the one table.
    ``size`` is height and width in pixels, ``extent`` the larger side of a character's bounding box at scale
    1 as a share of them, ``blur`` the standard deviation of the Gaussian smoothing in pixels.
    """

    reader: Literal["printed"]
    train: Alphabet
    test: Alphabet
    rotated: bool = False
    scaled: Annotated[tuple[float, float], AfterValidator(_ascending)] | None = None
    size: Annotated[int, Field(ge=8, le=128)]
    extent: Annotated[float, Field(gt=0, le=1)]
    blur: Annotated[float, Field(ge=0)]
    seed: Annotated[int, Field(ge=0)]


AnyFormat = Annotated[
    PlainFormat
    | TableFormat
    | PgmFormat
    | RFrameFormat
    | OrangeFormat
    | VwFormat
    | MatFormat
    | SpeechFormat
    | PartitionsFormat
    | GisetteFormat
    | PrintedFormat,
    Field(discriminator="reader"),
]
