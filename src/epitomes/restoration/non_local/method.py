"""NonLocal: a pilot by the paper's method, then passes over groups of similar patches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from epitomes.checks import Array, one_of, positive, whole
from epitomes.colours import turn_of
from epitomes.epitome import RESIDUAL_FACTOR, Epitome
from epitomes.groups.matching import Planar
from epitomes.learn import natural
from epitomes.noise import BlockSpectrum
from epitomes.phi import GatherPhi, support_of, windows
from epitomes.phi._windows import spatial_axes
from epitomes.restoration.contrast import contrast
from epitomes.restoration.method import Callback, Estimate, float_type, within
from epitomes.restoration.non_local.across import AcrossPlanes, denoised_volume, is_deep
from epitomes.restoration.non_local.colour import from_planar, to_planar, turn_for
from epitomes.restoration.non_local.correction import for_filtered
from epitomes.restoration.non_local.correlated import COARSE_FILTER, Correlated, JointFilter, support_of_filters
from epitomes.restoration.non_local.outliers import denoised_beside, outliers_of
from epitomes.restoration.non_local.parts import (
    OUTLIERS,
    settled_whole,
    support_of_passes,
    turned_for_filters,
)
from epitomes.restoration.non_local.passes import Pass, State, bounded, clipped_contrast
from epitomes.restoration.non_local.presets import PRESETS, passes_of
from epitomes.restoration.non_local.told_level import believed, note_of
from epitomes.restoration.non_local.volumes import ARRANGEMENTS
from epitomes.restoration.patchwise.coding import coded
from epitomes.restoration.patchwise.method import MOST_CONTRAST, precise, require_epitome, require_flag
from epitomes.restoration.patchwise.strong_noise import (
    CLOSE,
    MULTISCALE,
    is_strong,
    multiscale_estimate,
    residual_feedback,
)
from epitomes.restoration.whole_image import Support, WholeImage

PILOT_COST = 0.6  # of the time of a pass, for the progress shown
PLANES = ("auto", *ARRANGEMENTS, "single")
TIMES = ("auto", "joined", "mixed", "single")
FAINT = 16.0  # contrast, in units of the noise, from which passes need only a few patches of the pilot
FAINT_STRIDE = 4
PILOT_STRIDE = 2  # of patches of the pilot where passes follow


@dataclass(frozen=True, kw_only=True, eq=False)
class NonLocal:
    """Denoise by groups of similar patches, coded jointly over the atoms of an epitome.

    Parameters
    ----------
    preset : {"fast", "balanced", "best"}, default: "balanced"
        Which passes to make. "fast" stops after the pilot, the paper's method with a given epitome; "best" takes about
        four times as long as "balanced".
    epitome : Epitome, optional
        Epitome with two-dimensional patches, for images, or with three-dimensional ones, for volumes. Default: one
        that was learned from natural images; for volumes, a dictionary of cosines.
    passes : tuple of Pass, optional
        Passes to make instead of those of the preset.
    residual_factor : float, default: 1.15
        The paper's C, for the pilot: see `Patchwise`.
    multiscale : bool, optional
        Whether the pilot uses patches of three scales. Default: where the noise is stronger than in the paper's
        Table 1, relative to the contrast of the image.
    planes : {"auto", "still", "deep", "flat", "wide", "aligned", "shared", "single"}, default: "auto"
        How the planes of volumes and clips are taken: "still" finds groups of cubic patches across planes as they lie,
        "deep" of larger ones, for scenes that stand still, "flat" of flat ones, for planes that lie far apart, "wide"
        of larger flat ones, "aligned" shifts planes along their motion, "shared" turns up to 64 planes of a scene that
        stands still into the directions in which they vary together, and "single" denoises each plane by itself.
        "auto" tries the first six on tiles, unless planes are unrelated.
    spacing : float, optional
        Distance of the planes of volumes, in units of the distance of pixels within them. It is known of a `Picture`
        whose file says it. With 1.75 and more, flat patches come first. Default: unknown.
    times : {"auto", "joined", "mixed", "single"}, default: "auto"
        How the time points or channels of series of volumes are taken: "joined" turns some of them into frequencies
        over time, with common groups, "mixed" into the directions in which they vary together, and "single" denoises
        each by itself. "auto" tries all on tiles.
    stride : int, optional
        Distance of the patches of the pilot: 2 takes a quarter of its time. Longer ones than 1 exclude `multiscale`,
        and filter correlated noise in one round. Default: 1; where passes follow, 2, or 4 if the
        noise is faint.
    whole : WholeImage, optional
        What parts of an image must know of the whole; `for_parts` makes it. None: images are denoised as a whole.

    See Also
    --------
    Patchwise : The paper's method, for arrays of any number of axes.

    Notes
    -----
    Groups are found on all channels together and estimated in each. Three channels are taken for colours and turned
    into one lightness and two differences by an orthonormal matrix, which leaves white noise white. So are four that
    vary together, as those of a Bayer sensor do. Any phi whose
    patches are full rectangles is used as it is; passes that would need patches of another size than it can give use
    its own.

    The planes of volumes and clips pass through all stages one after another, so their number costs no memory. An
    epitome with two-dimensional patches, `passes`, and correlated noise mean that each plane is denoised by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.restoration import NonLocal
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> estimate = denoise(noisy, 5.0, method=NonLocal(preset="balanced"))
    >>> bool(np.std(estimate - clean) < 2)
    True
    """

    preset: str = "balanced"
    epitome: Epitome | None = None
    passes: tuple[Pass, ...] | None = None
    residual_factor: float = RESIDUAL_FACTOR
    multiscale: bool | None = None
    planes: str = "auto"
    spacing: float | None = None
    times: str = "auto"
    stride: int | None = None
    whole: WholeImage | None = None

    def __post_init__(self) -> None:
        one_of("preset", self.preset, PRESETS)
        one_of("planes", self.planes, PLANES)
        one_of("times", self.times, TIMES)
        require_epitome(self.epitome)
        positive("residual_factor", self.residual_factor)
        if self.spacing is not None:
            positive("spacing", self.spacing)
        require_flag("multiscale", self.multiscale)
        if self.stride is not None and whole("stride", self.stride, least=1) > 1 and self.multiscale:
            raise ValueError("patches of three scales are coded at every pixel: leave out stride or multiscale")
        for step in self.passes or ():
            if isinstance(step, type) or not isinstance(step, Pass):
                raise TypeError(f"passes must be objects such as AtomsPass() and FeedbackPass(), got {step!r}")
        if self.epitome is not None:
            _require_usable(self.epitome)
            if self.planes == "shared" and len(self.epitome.phi.patch_shape) == 3:
                raise ValueError(
                    f"planes='shared' needs patches within a plane, got an epitome with patches of shape "
                    f"{self.epitome.phi.patch_shape}: leave out epitome, or use planes='auto'"
                )

    @property
    def label(self) -> str:
        """Name of the preset, and the stride if it is a longer one."""
        name = self.preset if self.passes is None else "non-local"
        return f"{name}, stride {self.stride}" if (self.stride or 1) > 1 else name

    def prepare(self, shape: tuple[int, ...], channels: bool) -> int:
        """Return how many spatial axes are worked on at once; refuse what does not fit.

        Parameters
        ----------
        shape : tuple of int
            Shape of a picture, channels last if there are any.
        channels : bool
            Whether the last axis holds channels.

        Returns
        -------
        int
            3 for volumes, unless their planes are denoised one by one; 2 for images.

        Raises
        ------
        ValueError
            If the picture is a signal, or smaller than a patch.
        """
        spatial = shape[: len(shape) - channels]
        if len(spatial) < 2:
            raise ValueError(
                f"the non-local method needs two spatial axes at least, got a picture of shape {shape}"
                f"{', channels last' if channels else ''}: use method='paper' for signals"
            )
        patch = self.starting_epitome.phi.patch_shape
        if self.across is not None and is_deep(spatial):
            if self.epitome is not None and any(side < width for side, width in zip(spatial, patch, strict=True)):
                raise ValueError(
                    f"a volume of shape {spatial} is smaller than a patch of shape {patch}: use an epitome with "
                    "smaller patches, or leave it out"
                )
            return 3
        if len(patch) > 2:
            raise ValueError(
                f"the non-local method needs a volume for patches of shape {patch}, got an image of shape {shape}: "
                "use method='paper', or leave epitome out to use a shipped one"
            )
        if any(side < width for side, width in zip(spatial[-2:], patch, strict=True)):
            raise ValueError(
                f"an image of {spatial[-2]} x {spatial[-1]} pixels is smaller than a patch of {patch[0]} x {patch[1]}: "
                f"use {'method=' + repr('paper') if self.epitome is None else 'an epitome with smaller patches'}"
            )
        return 2

    def run(
        self,
        image: Array,
        sigma: float,
        *,
        blocks: BlockSpectrum | None = None,
        channels: bool = False,
        seed: int = 0,
        threads: int | None = None,
        callback: Callback | None = None,
    ) -> Estimate:
        """Denoise one image.

        Parameters
        ----------
        image : ndarray
            Image ``(height, width)`` or volume ``(planes, height, width)``, channels last if there are any, of any real
            dtype.
        sigma : float
            Standard deviation of its noise.
        blocks : BlockSpectrum, optional
            Shape of the noise if it is correlated. None: it is white.
        channels : bool, default: False
            Whether the last axis holds channels.
        seed : int, default: 0
            Decides the order of the patches while the epitome adapts ("best").
        threads : int, optional
            Number of threads. It changes no bit of the result.
        callback : callable, optional
            Called as ``callback(fraction, stage)``.

        Returns
        -------
        Estimate
            Image, epitome in the end, and the mean number of atoms per patch in the pilot.
        """
        outliers = outliers_of(image, sigma)
        if outliers is not None:
            if self.whole is not None:
                raise ValueError(OUTLIERS)
            again = partial(self.run, blocks=blocks, channels=channels, seed=seed, threads=threads, callback=callback)
            return denoised_beside(outliers, image, sigma, channels, again, self.starting_epitome)
        if image.ndim - channels > 2:
            each = partial(self.run, sigma=sigma, blocks=blocks, channels=channels, seed=seed, threads=threads)
            return denoised_volume(self.across, image, sigma, blocks, each, seed, threads, callback)
        epitome = self.starting_epitome
        passes = passes_of(self.preset) if self.passes is None else self.passes
        if blocks is not None:
            return self._correlated(image, blocks, passes, epitome, seed, threads, callback)
        whole = self.whole
        mean = float(image.mean(dtype=np.float64)) if whole is None else whole.mean
        turn = turn_of(image) if whole is None else turn_for(whole, image)
        noisy = to_planar(image, mean, sigma, turn)
        factor = believed(noisy[0, 0], clipped_contrast(noisy)) if whole is None else whole.believed
        if factor != 1:
            sigma *= factor
            noisy = to_planar(image, mean, sigma, turn)
        settled = self.settled(image, sigma)
        stride, twice = settled.stride or 1, bool(settled.multiscale)
        total = PILOT_COST + sum(step.cost(image.size) for step in passes)
        pilot, atoms = self._pilot(noisy, epitome, twice, stride, threads, within(callback, 0.0, PILOT_COST / total))
        if self.passes is None:
            passes = bounded(passes, atoms[0])  # the epitome adapts to the lightness
            total = PILOT_COST + sum(step.cost(image.size) for step in passes)
        state, done = State.begin(noisy, pilot, epitome, whole), PILOT_COST
        del pilot
        for number, step in enumerate(passes, start=1):
            part = within(callback, done / total, (done + step.cost(image.size)) / total)
            stage = f"pass {number} of {len(passes)}"
            advance = None if part is None else lambda fraction, part=part, stage=stage: part(fraction, stage)
            state = step.run(state, seed=seed, threads=threads, advance=advance)
            done += step.cost(image.size)
        denoised = from_planar(state.current, mean, sigma, turn, image.shape, float_type(image))
        notes = () if factor == 1 else (note_of(factor),)
        return Estimate(denoised, state.epitome, None, sum(atoms) / len(atoms), notes)

    def settled(self, image: Array, sigma: float) -> NonLocal:
        """Return the method with `stride` and `multiscale` decided, so that parts of an image are treated as it is.

        Parameters
        ----------
        image : ndarray
            The whole image.
        sigma : float
            Standard deviation of its noise.

        Returns
        -------
        NonLocal
            The same method with these two settings.
        """
        if self.whole is not None:
            return replace(self, stride=self.whole.stride, multiscale=False)
        passes = passes_of(self.preset) if self.passes is None else self.passes
        faint = bool(passes) and not self.multiscale and contrast(image, sigma) > FAINT * sigma
        strong = is_strong(image, sigma) if self.multiscale is None else self.multiscale
        stride = self.stride or (FAINT_STRIDE if faint else PILOT_STRIDE if passes and not strong else 1)
        twice = stride == 1 and strong
        return replace(self, stride=stride, multiscale=twice)

    def for_parts(
        self, sample: Array, sigma: float, *, channels: bool, blocks: BlockSpectrum | None = None
    ) -> NonLocal:
        """Return the method for parts of an image, which get the bits that they have in the whole.

        Parameters
        ----------
        sample : ndarray
            The image, or a sample of it, channels last if there are any.
        sigma : float
            Standard deviation of its noise.
        channels : bool
            Whether the last axis holds channels.
        blocks : BlockSpectrum, optional
            Shape of the noise if it is correlated. None: it is white.

        Returns
        -------
        NonLocal
            The same method with what depends on the whole settled.

        Raises
        ------
        ValueError
            If a pixel depends on all others, as with the preset "best". It says what to use.
        """
        return replace(self, multiscale=False, whole=settled_whole(self, sample, sigma, channels, blocks))

    def support(self) -> Support:
        """Return which pixels around a part reach into it, once the method is settled.

        Returns
        -------
        Support
            Pixels along each axis, and the grid on which parts with these pixels must begin.
        """
        if self.whole is None:
            raise ValueError("the support depends on the contrast of the whole image: call for_parts first")
        if self.whole.arrangement and self.across is not None:
            return self.across.support()
        passes = passes_of(self.preset) if self.passes is None else self.passes
        if self.whole.scales:
            return support_of_filters(self._joint_filter, for_filtered(passes), self.starting_epitome, self.whole)
        return support_of_passes(passes, self.starting_epitome, self.whole)

    @property
    def across(self) -> AcrossPlanes | None:
        """How groups are found across the planes of volumes; None if each plane is denoised by itself."""
        flat = self.epitome is not None and len(self.epitome.phi.patch_shape) != 3
        if self.planes == "single" or self.passes is not None or flat:
            return None
        return AcrossPlanes(
            preset=self.preset,
            planes=self.planes,
            spacing=self.spacing,
            times=self.times,
            epitome=self.epitome,
            whole=self.whole,
        )

    def _correlated(
        self,
        image: Array,
        blocks: BlockSpectrum,
        passes: tuple[Pass, ...],
        epitome: Epitome,
        seed: int,
        threads: int | None,
        callback: Callback | None,
    ) -> Estimate:
        """Denoise an image under correlated noise; `correlated` has the method."""
        noisy, turned, turn = turned_for_filters(image, blocks)
        white = for_filtered(passes)
        method = Correlated(passes=white, epitome=epitome, seed=seed, joint=self._joint_filter, whole=self.whole)
        found, adapted = method.run(noisy, turned, threads, callback)
        return Estimate(from_planar(found, 0.0, 1.0, turn, image.shape, float_type(image)), adapted, None, 0.0)

    @property
    def _joint_filter(self) -> JointFilter:
        """The filter for correlated noise."""
        return JointFilter() if (self.stride or 1) == 1 else COARSE_FILTER

    @property
    def starting_epitome(self) -> Epitome:
        """Epitome given, or the shipped one."""
        return shipped_epitome() if self.epitome is None else self.epitome

    def _pilot(
        self, noisy: Planar, epitome: Epitome, twice: bool, stride: int, threads: int | None, callback: Callback | None
    ) -> tuple[Planar, list[float]]:
        """Each channel by the paper's method, without learning; and its mean number of atoms per patch."""
        factor, n = self.residual_factor, len(noisy)
        most = MOST_CONTRAST * (CLOSE / factor if twice else 1.0)
        pilot, counts = np.empty_like(noisy), list[float]()
        for c, channel in enumerate(noisy[:, 0]):
            fine, level = precise(channel, 1.0, most), None
            if self.whole is not None:
                fine, level = self.whole.precise(channel, c), self.whole.levels[c]
            part = within(callback, c / n, (c + 1) / n)
            if twice:
                clean = multiscale_estimate(fine, 1.0, epitome, factor, threads, within(part, 0.0, MULTISCALE))
                rest = within(part, MULTISCALE, 1.0)
                clean, atoms = residual_feedback(fine, clean, 1.0, epitome, factor, 0.0, threads, rest)
            else:
                clean, atoms = coded(fine, 1.0, epitome, factor, 0.0, threads, part, stride, level=level)
            pilot[c, 0] = clean
            counts.append(atoms)
        return pilot, counts


def _require_usable(epitome: Epitome) -> None:
    """Refuse epitomes whose atoms groups cannot be coded with."""
    phi, advice = epitome.phi, "use method='paper', or leave epitome out to use a shipped one"
    if len(phi.patch_shape) != 2 and not (isinstance(phi, GatherPhi) and spatial_axes(phi) == 3):
        raise ValueError(
            "the non-local method needs an epitome with two-dimensional patches, got patches of shape "
            f"{phi.patch_shape}: {advice}"
        )
    if support_of(phi) is not None:
        raise ValueError(
            f"the non-local method needs patches that are full rectangles, got a phi with a support: {advice}"
        )
    if np.ptp(epitome.dictionary.atoms, axis=1).max() == 0:
        raise ValueError(
            f"the non-local method needs atoms with contrast, got {phi.patch_shape} patches that are all constant: "
            "leave epitome out to use a shipped one"
        )


@cache
def shipped_epitome() -> Epitome:
    """The epitome used where none is given: twenty of 15 x 15 pixels, learned from natural images."""
    return natural(windows((20, 15, 15), (8, 8)))
