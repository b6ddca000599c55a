"""Settings of the protocol that compares variants of a method on the same rows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from eigenbench.protocols.base import ProtocolSettings
from eigenbench.registry import component


class Settings(ProtocolSettings):
    """The variants, what each draw of the data consists of, and the classifier.

    Attributes
    ----------
    variants : dict
        Name to what a variant changes: a parameter, ``step__parameter``, or a whole ``step``, whose value is
        written like a step, ``{Name: {parameter: value}}``. Two variants or more.
    reference : str
        The variant that the others are compared with.
    classes : int or None
        Classes drawn by the seed; None takes all.
    train_rows : int or None
        Training rows drawn by the seed, of those classes; None takes all, as do fewer rows.
    classifier : str
        One that makes its features block by block.
    params : dict
        Parameters of the classifier, the same for every variant.
    """

    variants: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], dict[str, Any]] = Field(min_length=2)
    reference: str
    classes: int | None = Field(default=None, ge=2)
    train_rows: int | None = Field(default=None, ge=2)
    classifier: Literal["CalibratedLeastSquares", "SecondOrderLogistic"] = "CalibratedLeastSquares"
    params: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _known_reference(self) -> Settings:
        if self.reference not in self.variants:
            raise ValueError(f"'reference' must be one of the variants {', '.join(self.variants)}")
        return self

    @model_validator(mode="after")
    def _known_steps(self) -> Settings:
        for name, changes in self.variants.items():
            for key, step in changes.items():
                if "__" in key:
                    continue
                if not isinstance(step, dict) or len(step) != 1:
                    raise ValueError(
                        f"{key!r} of variant {name!r} must be {{Name: {{parameter: value}}}}, not {step!r}"
                    )
                try:
                    component(next(iter(step)))
                except KeyError as error:
                    raise ValueError(f"{key!r} of variant {name!r}: {error.args[0]}") from None
        return self
