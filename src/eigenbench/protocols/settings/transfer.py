"""Settings of the protocol of transfer to new classes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

from eigenbench.protocols.base import ProtocolSettings


class Deformation(BaseModel):
    """Random affine maps under which copies of the source images are made.

    Attributes
    ----------
    copies : int
        Copies of every image.
    rotation, shear : float
        Standard deviations of the angle, in radians, and of the slant.
    scaling : float
        Standard deviation of the logarithm of the scale, drawn for each axis.
    shift : float
        Standard deviation of the translation in each direction, in pixels.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    copies: int = Field(ge=1)
    rotation: float = Field(default=0.0, ge=0)
    shear: float = Field(default=0.0, ge=0)
    scaling: float = Field(default=0.0, ge=0)
    shift: float = Field(default=0.0, ge=0)


class Settings(ProtocolSettings):
    """Which classes and how many images of each make the source and the target task.

    Attributes
    ----------
    target : str or None
        Dataset whose test rows are the target's pool; the source then draws from all rows of the
        experiment's own dataset. None: the target task comes from the experiment's dataset too.
    by_part : bool
        Draw the source from the training rows and the target from the test rows, for datasets whose parts
        have different classes. Otherwise the target classes are drawn from those that the source left.
    source_classes, target_classes : int
        Numbers of classes drawn.
    source_per_class, target_per_class : int
        Images drawn of each class; all of them where there are fewer.
    exclude : tuple of str
        Names of classes that the source never draws.
    smoothing : float
        Standard deviation, in pixels, of a Gaussian filter on what methods see; ``raw_nn_error`` is
        that of the images as they are. Needs ``image``.
    image : tuple of int or None
        Height and width of the images.
    deformed_copies : Deformation or None
        Copies added to the images of the source, with their classes. Every method is fitted on images and
        copies; errors are those of images alone. Needs ``image``.
    folds : int
        Parts of the source classes that are held out in turn to choose parameters given as
        ``{choose: [...]}``.
    choice_per_class : int or None
        Images of each source class that take part in the choice, with their copies; None: all.
    """

    target: str | None = None
    by_part: bool = False
    source_classes: int = Field(ge=2)
    source_per_class: int = Field(ge=2)
    target_classes: int = Field(ge=2)
    target_per_class: int = Field(ge=2)
    exclude: tuple[str, ...] = ()
    smoothing: float = Field(default=0.0, ge=0)
    image: tuple[int, int] | None = None
    deformed_copies: Deformation | None = None
    folds: int = Field(default=3, ge=2)
    choice_per_class: int | None = Field(default=None, ge=2)

    def datasets(self) -> tuple[str, ...]:
        """Return the target's dataset, where it is another one."""
        return () if self.target is None else (self.target,)

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.target is not None and self.by_part:
            raise ValueError("'target' names the target's dataset, 'by_part' takes it from the own one")
        for name in ("smoothing", "deformed_copies"):
            if getattr(self, name) and self.image is None:
                raise ValueError(f"'{name}' needs 'image', the height and width of the images")
        return self
