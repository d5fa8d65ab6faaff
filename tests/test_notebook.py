"""Notebooks and plots: how epitomes, fits and results are shown."""

from __future__ import annotations

import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import epitomes
from epitomes import Epitome
from epitomes.coders import OMP
from epitomes.layout import Layout
from epitomes.learn import Fit, Progress, cosines, smooth_noise
from epitomes.noise import Noise
from epitomes.notebook import html
from epitomes.phi import windows
from epitomes.restoration import NonLocal, Plan, Restored


@pytest.fixture
def epitome() -> Epitome:
    return cosines(windows((4, 12, 10), (5, 5)))


@pytest.fixture
def fit(epitome: Epitome) -> Fit:
    history = tuple(Progress(i, 0, 10.0 / i, 2.5, 0, 0.25) for i in range(1, 9))
    return Fit(epitome, history, "stopped <here> & now")


@pytest.fixture
def restored(fit: Fit, rng: np.random.Generator) -> Restored:
    return with_image(rng.random((600, 900)), fit)


def with_image(image: np.ndarray, fit: Fit) -> Restored:
    """A result with this image, as far as a notebook shows it."""
    chosen = Plan(method=NonLocal(), noise=Noise.gaussian(1.0), layout=Layout.of(image.shape, spatial=1))
    return Restored(
        image=image,
        noisy=image,
        estimate=image,
        plan=chosen,
        epitome=fit.epitome,
        fit=fit,
        atoms_per_patch=2.5,
        seconds=1.25,
    )


class Reader(HTMLParser):
    """Counts open tags and keeps pictures; a page in a page is broken by a tag that stays open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.pictures.append(dict(attrs))
        else:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def shown(text: str) -> list[Image.Image]:
    """The pictures in the HTML, decoded; each must have words, and its own size or half of it."""
    found = []
    for picture in Reader(text).pictures:
        start = "data:image/png;base64,"
        assert picture["src"] is not None and picture["src"].startswith(start)
        image = Image.open(BytesIO(b64decode(picture["src"].removeprefix(start))))
        assert picture["alt"]
        ratio = image.width / int(picture["width"] or 0)
        assert ratio in (1, 2) and image.height == ratio * int(picture["height"] or 0)
        found.append(image)
    return found


def test_every_kind_is_shown(epitome: Epitome, fit: Fit, restored: Restored) -> None:
    for value, n_pictures in ((epitome, 1), (fit, 2), (restored, 3)):
        text = value._repr_html_()
        assert text == html(value)
        assert len(shown(text)) == n_pictures
        assert "<script" not in text
        assert not re.search(r'(src|href)="(?!data:)', text)  # nothing is fetched
        assert "4 x 12 x 10" in text
        assert "192 atoms of 5 x 5" in text
        assert len(text) < 300_000
    assert "stopped &lt;here&gt; &amp; now" in fit._repr_html_()


def test_pictures_are_faithful_and_small(restored: Restored, epitome: Epitome) -> None:
    image, drawn, chart = shown(html(restored))
    assert image.size == (420, 280)  # 900 x 600, reduced
    assert max(drawn.size) <= 420
    assert chart.size == (840, 520)
    step = np.repeat(np.array([[0.0, 1.0]] * 4), 20, axis=1).repeat(10, axis=0)
    (seen, *_) = shown(html(replace(restored, image=step)))
    np.testing.assert_array_equal(np.asarray(seen), (255 * step).astype(np.uint8))


@pytest.mark.parametrize(
    ("shape", "mode", "words"),
    [
        ((30, 40, 3), "RGB", "restored image,"),
        ((5, 30, 40), "L", "middle slice"),
        ((40,), "L", "restored image,"),
    ],
)
def test_colours_stacks_and_signals(
    restored: Restored, rng: np.random.Generator, shape: tuple[int, ...], mode: str, words: str
) -> None:
    text = html(replace(restored, image=rng.random(shape), fit=None))
    assert shown(text)[0].mode == mode
    assert words in text


def test_other_values_are_refused() -> None:
    with pytest.raises(TypeError, match="html shows an Epitome, a Fit or a Restored, got int"):
        html(3)


@pytest.mark.slow
def test_any_public_name_brings_the_notebook_view() -> None:
    """A class gets its picture when it is first needed; nothing is imported for it before it is shown."""
    code = (
        "import sys, epitomes\n"
        "epitomes.denoise\n"
        "from epitomes.restoration.restored import Restored\n"
        "from epitomes.learn.steps import Fit\n"
        "from epitomes.epitome import Epitome\n"
        "assert all(hasattr(kind, '_repr_html_') for kind in (Restored, Fit, Epitome))\n"
        "assert not {'PIL', 'jinja2', 'epitomes.draw', 'epitomes.notebook'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def pyplot() -> Iterator[object]:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.mark.slow
def test_plots_return_their_axes(pyplot: object, epitome: Epitome, fit: Fit, rng: np.random.Generator) -> None:
    plot = epitomes.plot
    codes = OMP(n_nonzero=2).encode(rng.standard_normal((30, 25)), epitome.dictionary)
    made = [
        plot.epitome(epitome),
        plot.dictionary(epitome.dictionary, (5, 5)),
        plot.usage(epitome, codes),
        plot.objective(fit),
    ]
    assert len({id(axes.figure) for axes in made}) == 4
    for axes in made[:3]:
        assert axes.images[0].get_array().dtype == np.uint8
        assert not len(axes.get_xticks())
    np.testing.assert_array_equal(made[3].lines[0].get_ydata(), [one.objective for one in fit.history])
    for axes in made:  # given axes are drawn upon
        assert plot.epitome(epitome, ax=axes) is axes
    assert plot.objective(fit, ax=made[3], label="again").get_legend() is not None


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(20, 30), (20, 30, 3)])
def test_before_after_and_residual(pyplot: object, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    clean = np.broadcast_to(np.linspace(0, 200, 30)[:, None], (20, 30, 3))[..., : (shape[2] if len(shape) > 2 else 1)]
    clean = clean.reshape(shape)
    noisy = clean + rng.standard_normal(shape)
    axes = epitomes.plot.restored(noisy, clean)
    assert [one.get_title() for one in axes] == ["noisy", "denoised", "residual"]
    if len(shape) == 2:
        np.testing.assert_array_equal(axes[2].images[0].get_array(), noisy - clean)
        assert axes[0].images[0].get_clim() == axes[1].images[0].get_clim()
    again = epitomes.plot.restored(noisy, clean, axes=axes)
    assert list(again) == list(axes)
    with pytest.raises(ValueError, match="noisy has shape"):
        epitomes.plot.restored(noisy[1:], clean)
    with pytest.raises(ValueError, match="axes must be 3, got 2"):
        epitomes.plot.restored(noisy, clean, axes=axes[:2])


def test_without_matplotlib_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # type: ignore[arg-type]
    with pytest.raises(ImportError, match=r'pip install "epitomes\[plot\]"'):
        epitomes.plot.epitome(smooth_noise(windows((9, 9), (4, 4))))
