"""Impulses: found where they are, and nowhere else."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from skimage import data

from epitomes.noise import Impulses, find_impulses

Pixels = NDArray[Any]
Flags = NDArray[np.bool_]


def bytes_of(values: Pixels) -> Pixels:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def grey(name: str, side: int = 512) -> Pixels:
    """A picture of scikit-image, 8 bits."""
    picture = np.asarray(getattr(data, name)())[:side, :side]
    return bytes_of(picture[..., :3] @ [0.299, 0.587, 0.114] if picture.ndim == 3 else picture)


def white_noise(shape: tuple[int, ...], sigma: float, seed: int = 0) -> Pixels:
    return sigma * np.random.default_rng(seed).standard_normal(shape)


def noisy(name: str, sigma: float) -> Pixels:
    picture = grey(name)
    return bytes_of(picture + white_noise(picture.shape, sigma))


def flat(level: float, sigma: float) -> Pixels:
    return bytes_of(level + white_noise((300, 400), sigma))


def counts(mean: float) -> Pixels:
    return np.random.default_rng(0).poisson(mean, (400, 400)).astype(np.uint16)


def counted(name: str, peak: float) -> Pixels:
    """Few counts, in units that are not those of counts."""
    return 0.37 * np.random.default_rng(0).poisson(grey(name) / 255 * peak)


def speckle(name: str) -> Pixels:
    return grey(name) * np.random.default_rng(0).exponential(1, grey(name).shape)


def stars(width: float, n: int = 300, most: float = 6e4, limit: float = np.inf) -> Pixels:
    """A frame of stars of this full width at half maximum on a dark sky, counted; `limit` saturates."""
    rng = np.random.default_rng(0)
    sky, grid = np.full((512, 512), 200.0), np.mgrid[-9:10, -9:10]
    for place, flux in zip(rng.uniform(10, 501, (n, 2)), 50 + most * rng.random(n) ** 4, strict=True):
        row, column = np.rint(place).astype(int)
        gap = grid + (np.rint(place) - place)[:, None, None]
        sky[row - 9 : row + 10, column - 9 : column + 10] += flux * np.exp(-4 * np.log(2) * (gap**2).sum(0) / width**2)
    return np.minimum(rng.poisson(sky) + white_noise(sky.shape, 5), limit)


def drawing(smooth: int) -> Pixels:
    """Lines, discs and words; drawn `smooth` times larger and reduced."""
    paper = Image.new("L", (600 * smooth, 400 * smooth), 255)
    pen, rng = ImageDraw.Draw(paper), np.random.default_rng(0)
    for _ in range(40):
        ends = (rng.random(4) * [600, 400, 600, 400] * smooth).tolist()
        pen.line(ends, fill=int(rng.choice([0, 90])), width=int(rng.integers(1, 3)) * smooth)
    for line in range(20):
        pen.text((10 * smooth, 20 * line * smooth), "i.e. ... a: b; 0.5 % (j, k)!  " * 3, fill=0)
    return np.asarray(paper.resize((600, 400)))


def dotted() -> Pixels:
    """Dotted rules on a page that is otherwise empty: single dark pixels, but in lines."""
    page = np.full((400, 400), 250, np.uint8)
    page[::2, 200:] = 249
    page[40:400:40, 20:380:4] = 0
    return page


def jpeg(picture: Pixels, quality: int) -> Pixels:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def dithered() -> Pixels:
    return np.asarray(Image.fromarray(grey("camera")).quantize(12, dither=Image.Dither.FLOYDSTEINBERG).convert("L"))


def framed() -> Pixels:
    picture = np.zeros((512, 512), np.uint8)
    picture[100:400, 50:450] = grey("camera")[100:400, 50:450]
    return picture


WITHOUT: dict[str, Callable[[], Pixels]] = {
    **{name: lambda name=name: grey(name) for name in ("brick", "grass", "gravel", "camera", "coins", "moon")},
    **{name: lambda name=name: grey(name) for name in ("page", "text", "retina", "hubble_deep_field", "clock")},
    **{f"camera, sigma {sigma}": lambda sigma=sigma: noisy("camera", sigma) for sigma in (5, 20, 50)},
    **{f"sky, sigma {sigma}": lambda sigma=sigma: noisy("hubble_deep_field", sigma) for sigma in (10, 30)},
    **{f"grey {level}, sigma 50": lambda level=level: flat(level, 50) for level in (0, 10, 128, 230)},
    **{f"{mean} counts": lambda mean=mean: counts(mean) for mean in (0.003, 0.03, 0.3, 3, 30)},
    **{f"camera, {peak} counts": lambda peak=peak: counted("camera", peak) for peak in (0.1, 1, 10)},
    **{f"stars of {width} pixels": lambda width=width: stars(width) for width in (1.2, 1.5, 2, 3)},
    "saturated stars": lambda: stars(2, limit=20000),
    "speckle": lambda: speckle("brick"),
    "clipped speckle": lambda: bytes_of(speckle("camera")),
    "Laplace noise": lambda: grey("camera") + np.random.default_rng(0).laplace(0, 10, (512, 512)),
    "heavy tails": lambda: np.random.default_rng(0).standard_t(4, (512, 512)),
    "drawing": lambda: drawing(1),
    "smooth drawing": lambda: drawing(4),
    "drawing as a photograph": lambda: jpeg(drawing(1), 60),
    "negative of a drawing": lambda: 255 - drawing(1),
    "dotted rules": dotted,
    "photograph": lambda: jpeg(grey("camera"), 30),
    "two levels": lambda: (np.random.default_rng(0).random((300, 300)) < 0.3).astype(np.uint8),
    "dithered": dithered,
    "black frame": framed,
    "overexposed": lambda: bytes_of(2.0 * grey("camera")),
    "ramp": lambda: np.add.outer(np.arange(200.0), np.arange(100.0)),
    "constant": lambda: np.full((40, 50), 7.0),
    "small": lambda: white_noise((20, 20), 1.0),
    "smallest": lambda: np.eye(5),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_nothing_is_found_where_nothing_is(name: str) -> None:
    found = find_impulses(WITHOUT[name]())
    assert not found.found and not found.mask.any() and found.share == 0 and found.describe() == "no impulses"


@pytest.mark.parametrize("name", ["astronaut", "coffee", "hubble_deep_field", "retina"])
def test_nothing_is_found_in_colours(name: str) -> None:
    assert not find_impulses(getattr(data, name)(), channel_axis=-1).found


def with_impulses(image: Pixels, share: float, low: float = 0, high: float = 255, salt: float = 0.5) -> Pixels:
    drawn = np.random.default_rng(7).random(image.shape)
    return np.where(drawn < share * salt, high, np.where(drawn < share, low, image)).astype(image.dtype)


def visible(clean: Pixels, image: Pixels, impulses: Flags, sigma: float) -> Flags:
    """Impulses that are further from the clean picture than its noise reaches, and than 10 of 255."""
    return impulses & (np.abs(image.astype(float) - clean) > 3 * sigma + 10)


def assert_found(found: Flags, truth: Flags, seen: Flags, recall: float = 0.95, precision: float = 0.9) -> None:
    assert found[seen].mean() > recall
    assert truth[found].mean() > precision


@pytest.mark.parametrize("sigma", [0, 5, 15, 30])
@pytest.mark.parametrize("share", [0.005, 0.03, 0.2])
@pytest.mark.parametrize("name", ["brick", "camera", "moon"])
def test_salt_and_pepper(name: str, share: float, sigma: float) -> None:
    before = noisy(name, sigma)
    image = with_impulses(before, share)
    truth = image != before
    found = find_impulses(image)
    weak = share < 0.01 and sigma >= 15  # salt among clipped noise that is as frequent
    seen = visible(grey(name), image, truth, sigma)
    assert_found(found.mask, truth, seen, recall=0.93 if weak else 0.95, precision=0.85 if weak else 0.9)
    assert found.kind == "salt and pepper" and found.salt + found.pepper == found.mask.sum()
    assert found.share == pytest.approx(found.mask.mean())


@pytest.mark.parametrize("share", [0.001, 0.3])
def test_few_and_many(share: float) -> None:
    before = noisy("moon", 10)
    image = with_impulses(before, share)
    assert_found(find_impulses(image).mask, image != before, image != before, recall=0.97, precision=0.97)


@pytest.mark.parametrize(("salt", "kind"), [(1.0, "salt"), (0.0, "pepper")])
def test_one_kind(salt: float, kind: str) -> None:
    before = noisy("moon", 10)
    image = with_impulses(before, 0.02, salt=salt)
    found = find_impulses(image)
    assert found.kind == kind and found.describe().endswith(f" % of the pixels are impulses ({kind})")
    assert_found(found.mask, image != before, image != before)


def test_noise_on_top_of_the_impulses() -> None:
    """No two of them have one value then."""
    impulses = with_impulses(grey("moon").astype(float), 0.03)
    image = impulses + white_noise(impulses.shape, 10)
    truth = impulses != grey("moon")
    assert_found(find_impulses(image).mask, truth, truth)


def test_any_value() -> None:
    rng, before = np.random.default_rng(1), noisy("camera", 10)
    truth = rng.random(before.shape) < 0.03
    image = np.where(truth, rng.integers(0, 256, before.shape), before)
    assert_found(find_impulses(image).mask, truth, visible(grey("camera"), image, truth, 20), recall=0.9)


def test_a_value_inside_the_range() -> None:
    """Noise that is not clipped goes below 0 and beyond 255, and its impulses do not."""
    clean = 0.8 * grey("camera")
    before = clean + white_noise(clean.shape, 15)
    image = with_impulses(before, 0.05)
    assert before.min() < 0
    assert_found(find_impulses(image).mask, image != before, visible(clean, image, image != before, 15))


SCALES: dict[str, Callable[[Pixels], Pixels]] = {
    "16 bits": lambda image: image.astype(np.uint16) * 257,
    "32 bits": lambda image: image.astype(np.int32) - 1000,
    "single": lambda image: (image / 255).astype(np.float32),
    "double": lambda image: 3.7e-9 * image + 2e-8,
    "large": lambda image: 1e150 * image,
    "foreign bytes": lambda image: image.astype(">f8"),
}


@pytest.mark.parametrize("name", SCALES)
def test_units_do_not_matter(name: str) -> None:
    image = with_impulses(noisy("camera", 10), 0.03)
    np.testing.assert_array_equal(find_impulses(SCALES[name](image)).mask, find_impulses(image).mask)


FRAMES: dict[str, Callable[[], Pixels]] = {
    "dark frame": lambda: 200 + white_noise((512, 512), 5),
    "counts": lambda: counts(50).astype(float),
    "stars": lambda: stars(2.5),
}


@pytest.mark.parametrize("dtype", [np.float64, np.uint16])
@pytest.mark.parametrize("n", [3, 12])
@pytest.mark.parametrize("name", FRAMES)
def test_hot_pixels(name: str, n: int, dtype: Any) -> None:
    frame = FRAMES[name]()
    rng, truth = np.random.default_rng(3), np.zeros(frame.shape, np.bool_)
    truth.flat[rng.choice(np.flatnonzero(frame < 260), n, replace=False)] = True  # in the sky, not on stars
    hot = np.where(truth, frame + rng.uniform(300, 5000, frame.shape), frame).astype(dtype)
    found = find_impulses(hot)
    np.testing.assert_array_equal(found.mask, truth)
    assert found.describe() == f"{n} hot pixels" and (found.salt, found.pepper) == (n, 0)


def test_dead_pixels() -> None:
    frame = 2000 + white_noise((300, 300), 20)
    dead = np.random.default_rng(3).choice(frame.size, 15, replace=False)
    frame.flat[dead] = 0
    found = find_impulses(frame)
    assert found.describe() == "15 dead pixels" and found.mask.flat[dead].all()


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("together", [False, True])
def test_colours(together: bool, axis: int) -> None:
    before = np.asarray(data.chelsea())
    drawn = np.random.default_rng(0).random(before.shape[:2] if together else before.shape) < 0.02
    truth = np.broadcast_to(drawn[..., None] if together else drawn, before.shape)
    image = np.where(truth, 255, before)
    found = find_impulses(np.moveaxis(image, -1, axis), channel_axis=axis)
    mask = np.moveaxis(found.mask, axis, -1)
    assert found.mask.shape == np.moveaxis(image, -1, axis).shape
    assert_found(mask, image != before, image != before)


def test_volumes_and_stacks_plane_by_plane() -> None:
    stack = np.stack([noisy("moon", 10)[:200, :200], with_impulses(noisy("moon", 10)[:200, :200], 0.02)])
    for spatial in (2, 3):
        found = find_impulses(stack, spatial=spatial)
        assert not found.mask[0].any()
        np.testing.assert_array_equal(found.mask[1], find_impulses(stack[1]).mask)
    assert found.share == pytest.approx(0.01, rel=0.1)


def test_signals_have_none() -> None:
    signal = white_noise((500,), 1.0)
    signal[100] = 1000
    assert not find_impulses(signal).found
    assert not find_impulses(np.tile(signal, (20, 1)), spatial=1).found


def test_the_image_is_not_changed_and_may_be_read_only() -> None:
    image = with_impulses(noisy("moon", 10), 0.02)
    kept = image.copy()
    image.flags.writeable = False
    assert find_impulses(image).found
    np.testing.assert_array_equal(image, kept)


def test_unknown_values_are_refused() -> None:
    image = white_noise((20, 20), 1.0)
    image[3, 4] = np.nan
    with pytest.raises(ValueError, match=r"image holds 1 NaN .* \(3, 4\)"):
        find_impulses(image)
    with pytest.raises(TypeError, match="real numbers"):
        find_impulses(np.ones((20, 20), complex))


@pytest.mark.parametrize(
    ("salt", "pepper", "words"),
    [
        (0, 0, "no impulses"),
        (1, 0, "1 hot pixel"),
        (0, 3, "3 dead pixels"),
        (4, 5, "9 hot and dead pixels"),
        (300, 10, "3.1 % of the pixels are impulses (salt and pepper)"),
        (300, 1, "3 % of the pixels are impulses (salt)"),
        (0, 2000, "20 % of the pixels are impulses (pepper)"),
    ],
)
def test_words(salt: int, pepper: int, words: str) -> None:
    found = Impulses(np.zeros((100, 100), np.bool_), salt, pepper)
    assert found.describe() == words and found.found == (words != "no impulses")


@pytest.mark.slow
def test_memory_is_a_few_bytes_per_pixel() -> None:
    image = np.tile(with_impulses(noisy("moon", 10), 0.01), (6, 6))
    find_impulses(image[:100])
    tracemalloc.start()
    try:
        assert find_impulses(image).found
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 16 * image.size
