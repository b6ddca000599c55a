"""Settings of the protocol `transfer`."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from eigenbench.bench.protocols.base import ImageSize, ProtocolSettings, Several


class Deformation(BaseModel):
    """Random affine maps under which copies of the source images are made.

    - ``copies``: Copies of every image.
    - ``rotation``, ``shear``: Standard deviations of the angle, in radians, and of the slant.
    - ``scaling``: Standard deviation of the logarithm of the scale, drawn for each axis.
    - ``shift``: Standard deviation of the translation in each direction, in pixels.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    copies: int = Field(ge=1)
    rotation: float = Field(default=0.0, ge=0)
    shear: float = Field(default=0.0, ge=0)
    scaling: float = Field(default=0.0, ge=0)
    shift: float = Field(default=0.0, ge=0)


class ImageTreatment(BaseModel):
    """Treatment of the images that methods see: a candidate of the choice on held-out source classes.

    - ``inverted``: Take the largest grey level minus each pixel.
    - ``smoothing``: Standard deviation of a Gaussian filter, in pixels.
    - ``deformed_copies``: Copies added to the images of the source.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    inverted: bool = False
    smoothing: float = Field(default=0.0, ge=0)
    deformed_copies: Deformation | None = None


class TransferSettings(ProtocolSettings):
    """The classes, and images of each, that make the source and the target task.

    - ``target``: Dataset whose test rows are the target's pool; the source then draws from all rows of the
      experiment's own dataset. None: the target task comes from the experiment's dataset too.
    - ``by_part``: Draw the source from the training rows and the target from the test rows, for datasets
      whose parts have different classes. Otherwise the target classes are drawn from those that the source
      left.
    - ``source_classes``, ``target_classes``: Numbers of classes drawn.
    - ``source_per_class``, ``target_per_class``: Images drawn of each class; all of them where there are
      fewer.
    - ``target_names``: Names of the target classes, where they are given and not drawn.
    - ``exclude``: Names of classes that the source never draws.
    - ``inverted``: Take the largest grey level minus each pixel, in ``raw_nn_error`` too.
    - ``smoothing``: Standard deviation, in pixels, of a Gaussian filter on what methods see; ``raw_nn_error``
      is that of the images as they are. Needs ``image``.
    - ``image``: Height and width of the images.
    - ``deformed_copies``: Copies added to the images of the source, with their classes. Every method is
      fitted on images and copies; errors are those of images alone. Needs ``image``.
    - ``treatments``: Candidates for ``inverted``, ``smoothing`` and ``deformed_copies``, chosen together with
      the method's parameters on held-out source classes. Needs ``image``.
    - ``folds``: Parts of the source classes that are held out in turn to choose parameters given as
      ``{choose: [...]}``.
    - ``choice_per_class``: Images of each source class that take part in the choice, with their copies; None:
      all.
    """

    headline: ClassVar[str] = "nn_error"
    optional: ClassVar[tuple[str, ...]] = ("target_names", "inverted", "treatments")

    target: str | None = None
    by_part: bool = False
    source_classes: int = Field(ge=2)
    source_per_class: int = Field(ge=2)
    target_classes: int = Field(ge=2)
    target_per_class: int = Field(ge=2)
    target_names: Several[str] = ()
    exclude: Several[str] = ()
    inverted: bool = False
    smoothing: float = Field(default=0.0, ge=0)
    image: ImageSize | None = None
    deformed_copies: Deformation | None = None
    treatments: Several[ImageTreatment] = ()
    folds: int = Field(default=3, ge=2)
    choice_per_class: int | None = Field(default=None, ge=2)

    def datasets(self) -> tuple[str, ...]:
        """Return the target's dataset, where it is another one."""
        return () if self.target is None else (self.target,)

    def n_tested(self) -> int:
        """Return the number of images of the target task."""
        return self.target_classes * self.target_per_class

    @model_validator(mode="after")
    def _consistent(self) -> TransferSettings:
        if self.target is not None and self.by_part:
            raise ValueError(
                "give 'target', another dataset, or 'by_part', this dataset's test rows, not both"
            )
        if self.target_names and len(self.target_names) != self.target_classes:
            raise ValueError(
                f"'target_names' names {len(self.target_names)} of {self.target_classes} classes"
            )
        for name in ("smoothing", "deformed_copies", "treatments"):
            if getattr(self, name) and self.image is None:
                raise ValueError(f"'{name}' needs 'image', the height and width of the images")
        return self

    def work(self, rows: int, features: int) -> int:
        """Estimate the numbers that one measurement computes on: a kernel matrix or all images and copies."""
        copies = self.deformed_copies.copies if self.deformed_copies else 0
        images = self.source_classes * min(self.source_per_class, rows) * (1 + copies)
        return images * max(images, features)

    def metrics(self) -> tuple[str, ...]:
        """Return the names of errors and risks, and the pattern of chosen parameters."""
        return (
            "nn_error",
            "raw_nn_error",
            "nn_error_ratio",
            "balanced_risk",
            "threshold",
            "relative_threshold",
            "source_risk",
            "bound",
            "eta_negative",
            "held_out_nn_error",
            "chosen_*",
        )
