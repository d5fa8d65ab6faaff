"""Restored: a denoised image, how it was made, and whether to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from epitomes.display import repr_html
from epitomes.epitome import Epitome
from epitomes.layout import Layout
from epitomes.learn import Fit
from epitomes.noise import Noise
from epitomes.restoration.method import Callback
from epitomes.validation import Audit, Flicker, audit, flicker

if TYPE_CHECKING:
    from epitomes.reports import ReportData
    from epitomes.restoration._plan import Plan


@dataclass(frozen=True, kw_only=True, eq=False)
class Restored:
    """A denoised image and how it was made; ``np.asarray(restored)`` is the image.

    Parameters
    ----------
    image : ndarray
        The denoised image, with the shape and dtype of the input.
    noisy : ndarray
        The input; bad pixels are filled where a mask was given. Of a picture with channels between its planes, such as
        "ZCYX", in the order of ``picture.by_volume()``.
    estimate : ndarray
        The denoised image with estimates of the bad pixels, too, in the order of `noisy`; `image` itself unless a mask
        was given without `fill`.
    plan : Plan
        What was done and why, with the noise model.
    epitome : Epitome or None
        The epitome that was used in the end; None if nothing was done, or the method has none.
    fit : Fit or None
        How the epitome was learned; None if it was given.
    atoms_per_patch : float
        Mean number of atoms per patch.
    seconds : float
        Time of the denoising. ``plan.spent`` is the time before it.
    notes : tuple of str
        What the user should know, in short sentences.
    how : str
        How it was done, in a few words, where that was decided on the way: how the planes of a volume were taken.

    See Also
    --------
    restore : Make one.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import restore
    >>> noisy = np.random.default_rng(0).normal(100, 10, (48, 48))
    >>> restored = restore(noisy, preset="fast")
    >>> restored.image.shape, round(restored.noise.level)
    ((48, 48), 10)
    >>> restored.audit().verdict
    'pass'
    """

    image: NDArray[Any]
    noisy: NDArray[Any]
    estimate: NDArray[Any]
    plan: Plan
    epitome: Epitome | None
    fit: Fit | None
    atoms_per_patch: float
    seconds: float
    notes: tuple[str, ...] = ()
    how: str = ""

    @property
    def noise(self) -> Noise:
        """Noise model, given or estimated."""
        return self.plan.noise

    @property
    def layout(self) -> Layout:
        """Meaning of the axes of `noisy` and `estimate`."""
        return Layout.of(self.estimate.shape, self.plan.layout.channel_axis, self.plan.layout.spatial)

    @property
    def unchanged(self) -> bool:
        """Whether the image is the input, because there was nothing to remove."""
        return bool(np.array_equal(self.estimate, self.noisy))

    def audit(self) -> Audit:
        """Judge the result by what was removed, without the clean image.

        Returns
        -------
        Audit
            Verdict, reasons and numbers. Its `headline` says so if nothing was removed.

        See Also
        --------
        epitomes.audit : The same for any pair of images.
        """
        layout = self.layout
        return audit(self.noisy, self.estimate, self.noise, channel_axis=layout.channel_axis, spatial=layout.spatial)

    def flicker(self) -> Flicker | None:
        """Measure how much a volume or clip changes from plane to plane where nothing happens.

        Returns
        -------
        Flicker or None
            The change before and after; None for images, and where nothing is still.

        See Also
        --------
        epitomes.validation.flicker : The same for any pair of clips.
        """
        layout = self.layout
        return flicker(self.noisy, self.estimate, self.noise, channel_axis=layout.channel_axis, spatial=layout.spatial)

    def report(
        self,
        path: str | Path,
        *,
        name: str = "image",
        command: str = "",
        clip: bool = False,
        overwrite: bool = False,
        threads: int | None = None,
        callback: Callback | None = None,
    ) -> ReportData:
        """Write a page that shows the result and why to trust it.

        Of a volume or clip, it judges the middle plane and shows the others with sliders. The error is estimated by
        denoising that plane twice more, with a few planes around it if planes were denoised together.

        Parameters
        ----------
        path : str or Path
            HTML file to write.
        name : str, default: "image"
            Title of the page.
        command : str, optional
            Command that makes the same result again.
        clip : bool, default: False
            Whether the planes of a volume are the frames of a clip, which can be played.
        overwrite : bool, default: False
            Whether an existing file is replaced.
        threads : int, optional
            Number of threads.
        callback : callable, optional
            Called as ``callback(fraction, stage)``.

        Returns
        -------
        ReportData
            What the page shows, with the audit and the estimated error.
        """
        from epitomes.reports import write_report
        from epitomes.restoration.diagnosis import report_data

        data = report_data(self, name=name, command=command, clip=clip, threads=threads, callback=callback)
        write_report(path, data, overwrite=overwrite)
        return data

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without pixels.

        Returns
        -------
        dict
            Plan, noise, times and notes.
        """
        return {
            "shape": list(self.image.shape),
            "dtype": str(self.image.dtype),
            "plan": self.plan.as_dict(),
            "atoms_per_patch": self.atoms_per_patch,
            "objectives": [] if self.fit is None else [step.objective for step in self.fit.history],
            "seconds": self.plan.spent + self.seconds,
            "notes": list(self.notes),
            "how": self.how,
        }

    def __getitem__(self, key: Any) -> Any:
        """Pixels of the image: scikit-image's `calibrate_denoiser` indexes what a denoiser returns."""
        return self.image[key]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.image, dtype=dtype, copy=copy)

    _repr_html_ = repr_html
