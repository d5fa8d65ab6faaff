"""The page about noise: it says what the model says, escapes names, and asks nothing of the network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from epitomes import estimate_noise
from epitomes.layout import Layout
from epitomes.noise.survey import survey
from epitomes.reports.noise_page import noise_html, write_noise_page


def test_it_holds_charts_levels_and_doubts(tmp_path: Path, rng: np.random.Generator) -> None:
    image = 100 + 5 * rng.standard_normal((64, 64, 3))
    noise = estimate_noise(image, channel_axis=-1)
    found = survey(image, noise, Layout.of(image.shape, -1), ("red", "green", "blue"))
    write_noise_page(tmp_path / "a.html", noise, found, name="<b>.png", command="epitomes noise a.png")
    text = (tmp_path / "a.html").read_text()
    assert text.count("<svg") == 9 and "Blue" in text and noise.describe() in text
    assert "<b>" not in text and "&lt;b&gt;.png" in text and "epitomes noise a.png" in text
    assert "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text
    with pytest.raises(FileExistsError):
        write_noise_page(tmp_path / "a.html", noise, found, name="a")


def test_doubts_are_listed() -> None:
    image = np.arange(400.0).reshape(20, 20)
    noise = estimate_noise(image)
    text = noise_html(noise, survey(image, noise, Layout.of(image.shape)), name="slope")
    assert noise.doubts and all(doubt in text for doubt in noise.doubts) and text.count("<svg") == 1
