"""Settings of the protocol of transfer to new classes."""

from __future__ import annotations

from pydantic import Field, model_validator

from eigenbench.protocols.base import ProtocolSettings


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
    folds : int
        Parts of the source classes that are held out in turn to choose parameters given as
        ``{choose: [...]}``.
    choice_per_class : int or None
        Images of each source class that take part in the choice; None: all.
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
    folds: int = Field(default=3, ge=2)
    choice_per_class: int | None = Field(default=None, ge=2)

    def datasets(self) -> tuple[str, ...]:
        """Return the target's dataset, where it is another one."""
        return () if self.target is None else (self.target,)

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.target is not None and self.by_part:
            raise ValueError("'target' names the target's dataset, 'by_part' takes it from the own one")
        if self.smoothing and self.image is None:
            raise ValueError("'smoothing' needs 'image', the height and width of the images")
        return self
