"""The report as text: structure, escaping, numbers, sizes. `test_browser.py` looks at it in a browser."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from page_reader import Reader
from PIL import Image
from report_cases import NASTY, SIGMA, Audit, Errors, Noise, Risk, images, report_data

from epitomes.learn import start
from epitomes.phi import windows
from epitomes.reports import ReportData, read_figures, report_html, write_report

ORDER = ("board.png", "Looks good", "Noise level", "Estimated gain", "Method", "Time", "Before and after")
FOLDED = (
    "What was removed",
    "Estimates and audit",
    "The epitome and how the image uses it",
    "How the epitome was learned",
    "Settings and reproduction",
)


def decoded(uri: str | None) -> Image.Image:
    assert uri is not None and uri.startswith("data:image/png;base64,")
    return Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1])))


def test_the_page_opens_with_the_answer(rng: np.random.Generator) -> None:
    read = Reader(report_html(report_data(rng, notes=("plane 3 of 12",))))
    places = [read.words.rindex(words) if words == "board.png" else read.words.index(words) for words in ORDER[1:]]
    assert places == sorted(places) and read.words.index("board.png") < places[0]
    assert [read.words.index(words) for words in FOLDED] == sorted(read.words.index(words) for words in FOLDED)
    assert len(read.all("details")) == len(FOLDED) and not any("open" in one for one in read.all("details"))
    for words in ("Plane 3 of 12.", "PSNR 29.50 dB", "learning 1.0 s", "The image is small.", "--report out.html"):
        assert words in read.words
    assert "Reasons for doubt" not in read.words


def test_structure(rng: np.random.Generator) -> None:
    read = Reader(report_html(report_data(rng)))
    assert len(read.all("h1")) == len(read.all("main")) == len(read.all("header")) == 1
    assert read.all("html")[0]["lang"] == "en" and len(read.all("dt")) == 4
    assert len([one for one in read.all("svg") if one.get("role") == "img"]) == 1  # the objective
    assert [one["value"] for one in read.all("input") if one["type"] == "radio"] == ["fit", "1", "2", "4", "8"]
    ids = [one["id"] for _, one in read.found if "id" in one]
    assert len(ids) == len(set(ids)) and {one["href"] for one in read.all("a")} <= {f"#{name}" for name in ids}
    pictures = read.all("img")
    assert len(pictures) == 7  # noisy, denoised, residual, error, leak, epitome, its use
    for one in pictures:
        file = decoded(one["src"])
        assert one["alt"] and int(one["width"] or 0) % file.width == 0 == int(one["height"] or 0) % file.height


def test_doubts_are_listed_with_their_next_steps(rng: np.random.Generator) -> None:
    audit = Audit(np.zeros((72, 96)), ("edges were cut",), ("use a smaller sigma",))
    read = Reader(report_html(report_data(rng, audit=audit)))
    assert "Check this" in read.words and "Looks good" not in read.words
    assert "Edges were cut. Use a smaller sigma." in " ".join(read.words.split())
    assert "#doubts" in [one["href"] for one in read.all("a")]


def test_before_and_after_are_the_images(rng: np.random.Generator) -> None:
    data = report_data(rng, dtype="uint8")
    pictures = {one["class"]: one["src"] for one in Reader(report_html(data)).all("img")[:2]}
    for kind, pixels in (("before sharp", data.noisy), ("after sharp", data.restored)):
        np.testing.assert_array_equal(np.asarray(decoded(pictures[kind])), pixels)


def test_only_its_own_script_and_styles_may_run(rng: np.random.Generator) -> None:
    text = report_html(report_data(rng))
    policy = next(one["content"] for one in Reader(text).all("meta") if "http-equiv" in one)
    assert policy is not None and "unsafe" not in policy and policy.startswith("default-src 'none'; img-src data:;")
    for kind in ("script", "style"):
        allowed = set(re.search(rf"{kind}-src ([^;]*)", policy)[1].split())  # type: ignore[index]
        contents = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in contents]
        assert len(contents) == 1 and allowed == {f"'sha256-{digest}'" for digest in digests}
    assert not any("style" in one or any(name.startswith("on") for name in one) for _, one in Reader(text).found)


def test_nothing_is_fetched(rng: np.random.Generator) -> None:
    text = report_html(report_data(rng))
    read = Reader(text)
    links = [value for _, one in read.found for name, value in one.items() if name in ("src", "href", "action", "data")]
    assert links and all(link is not None and link.startswith(("data:image/png;", "#")) for link in links)
    assert set(re.findall(r"https?://[^\"' ]*", text)) <= {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import\()|@import|url\(", text)


def test_hostile_words_stay_words(rng: np.random.Generator) -> None:
    data = report_data(
        rng,
        name=NASTY,
        command=NASTY,
        notes=(NASTY,),
        plan=(NASTY,),
        noise=Noise(doubts=(NASTY,), words=NASTY),
        audit=Audit(np.zeros((72, 96)), (NASTY,), (NASTY,)),
        seconds={NASTY: 1.0},
        settings={NASTY: NASTY, "method": NASTY, "preset": NASTY},
    )
    data = replace(data, fit=replace(data.fit, reason=NASTY))
    text = report_html(data)
    read = Reader(text)
    assert NASTY not in text and [one.get("id") for one in read.all("script")] == ["figures", None]
    assert read.words.count(NASTY) >= 14  # each came through, as text
    assert not any("onerror" in one for _, one in read.found)


def test_names_that_no_text_can_hold(rng: np.random.Generator, tmp_path: Path) -> None:
    write_report(tmp_path / "a.html", report_data(rng, name=b"scan-\xff.png".decode("utf-8", "surrogateescape")))
    assert "scan-?.png" in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert read_figures(tmp_path / "a.html")["name"] == "scan-\udcff.png"


def test_the_numbers_come_back(rng: np.random.Generator, tmp_path: Path) -> None:
    data = report_data(rng, name=NASTY, settings={"big": float("inf"), "whole": np.int64(3), "none": None})
    write_report(tmp_path / "r.html", data)
    found = read_figures(tmp_path / "r.html")
    json.dumps(found, allow_nan=False)
    assert (found["name"], found["shape"], found["sigma"], found["verdict"]) == (NASTY, [72, 96], SIGMA, "good")
    assert found["settings"] == {"big": None, "whole": 3, "none": None} and found["plan"] == ["the image is small"]
    assert found["noise"]["low"] == 19.5 and found["audit"]["variance"] == 0.97
    assert found["sure"]["interval"] == [29.1, None] and found["gain"]["high"] is None
    assert found["learning"]["steps"][6]["objective"] == pytest.approx(100 / 7)
    residual = np.float64(data.noisy) - data.restored
    assert found["residual"]["deviation"] == pytest.approx(residual.std(), rel=1e-4)
    assert found["picture"]["factor"] == 1 and found["picture"]["black"] < found["picture"]["white"]
    assert found["epitome"] == {"shape": [3, 12, 12], "patch": [6, 6], "atoms": 147}


def test_the_parts_of_the_library_are_understood(rng: np.random.Generator) -> None:
    from epitomes.validation import audit, error_map

    noisy, restored = images(rng, (96, 96))
    errors = error_map(noisy, restored, SIGMA, lambda image: np.asarray(image) * 0.9, rng=0)
    judged = audit(noisy, restored, SIGMA)
    data = ReportData(noisy=noisy, restored=restored, sigma=SIGMA, audit=judged, sure=errors.sure, error=errors)
    read = Reader(report_html(data))
    for words in (
        "Share of pixels with structure in the residual",
        "90 % interval of the PSNR, dB",
        "mean over pixels",
    ):
        assert words in read.words


def test_only_the_images_are_needed(rng: np.random.Generator) -> None:
    noisy = images(rng, (40, 50))[0]
    read = Reader(report_html(ReportData(noisy=noisy, restored=noisy * 0.9, sigma=SIGMA)))
    assert "not audited" in read.words and "set by the user" in read.words and "not recorded" in read.words
    assert "To make the same result again" not in read.words and "nan" not in read.words
    assert "The epitome" not in read.words and len(read.all("img")) == 3


def test_an_epitome_that_does_not_fit_the_image(rng: np.random.Generator) -> None:
    epitome = start.smooth_noise(windows((60, 60), (50, 6)))
    read = Reader(report_html(report_data(rng, (40, 48), epitome=epitome, fit=None)))
    assert "The epitome and how" in read.words and "Nothing is selected" not in read.words


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(40, 33), (40, 33, 3), (40, 33, 1)])
def test_all_images_of_one_plane(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    data = report_data(rng, (*shape[:2], 3) if shape[2:] == (3,) else shape[:2], dtype)
    if shape[2:] == (1,):
        data = replace(data, noisy=data.noisy[..., None], restored=data.restored[..., None])
    kept = data.noisy.copy()
    file = decoded(Reader(report_html(data)).all("img")[0]["src"])
    assert (file.mode, file.size) == ("RGB" if shape[2:] == (3,) else "L", (33, 40))
    np.testing.assert_array_equal(data.noisy, kept)


@pytest.mark.slow
def test_large_images_are_reduced_and_the_page_says_so(rng: np.random.Generator, tmp_path: Path) -> None:
    shape = (700, 640, 3)
    noisy = rng.integers(0, 256, shape, dtype=np.uint8)  # nothing is harder to compress
    data = ReportData(
        noisy=noisy,
        restored=noisy[::-1].copy(),
        sigma=60.0,
        audit=Audit(rng.random(shape[:2])),
        error=Errors(rng.random(shape)),
        epitome=start.smooth_noise(windows((20, 15, 15), (8, 8))),
    )
    write_report(tmp_path / "large.html", data)
    assert (tmp_path / "large.html").stat().st_size <= 6_000_000
    read = Reader((tmp_path / "large.html").read_text(encoding="utf-8"))
    factor = read_figures(tmp_path / "large.html")["picture"]["factor"]
    assert factor > 1 and f"{factor} times smaller" in read.words
    assert {one["id"] for one in read.all("figure") if "id" in one} == {"whole", "detail"}
    pixels = np.asarray(decoded(next(one["src"] for one in read.all("img") if one["alt"] == "The noisy detail")))
    top, left = map(int, re.search(r"from row (\d+), column (\d+)", read.words).groups())  # type: ignore[union-attr]
    np.testing.assert_array_equal(pixels, noisy[top : top + 320, left : left + 320])  # not reduced


def test_levels_that_are_not_one_number(rng: np.random.Generator, tmp_path: Path) -> None:
    write_report(tmp_path / "a.html", report_data(rng, (40, 48, 3), sigma=np.array([3.0, 4.0, 5.0])))
    write_report(tmp_path / "b.html", report_data(rng, sigma=np.full((72, 96), 7.0), sure=Risk(float("inf"))))
    assert read_figures(tmp_path / "a.html")["sigma"] == [3.0, 4.0, 5.0]
    assert read_figures(tmp_path / "b.html")["sigma"] == pytest.approx(7.0)
    assert "too small to measure" in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_nothing_removed(rng: np.random.Generator) -> None:
    data = report_data(rng)
    read = Reader(report_html(replace(data, restored=data.noisy, sigma=0.0)))
    assert "Nothing removed" in read.words and "Looks good" not in read.words


def test_files_are_kept_unless_told(rng: np.random.Generator, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        write_report(path, report_data(rng))
    assert path.read_text() == "mine"
    with pytest.raises(ValueError, match="not a report"):
        read_figures(path)
    write_report(str(path), report_data(rng), overwrite=True)
    assert read_figures(path)["format"] == "epitomes report" and sorted(tmp_path.iterdir()) == [path]
    with pytest.raises(TypeError, match="must be a ReportData, got str"):
        write_report(path, "data", overwrite=True)  # type: ignore[arg-type]


def test_the_same_data_give_the_same_page() -> None:
    first, second = (report_html(report_data(np.random.default_rng(5))) for _ in range(2))
    assert first == second


@pytest.mark.slow
def test_templates_are_loaded_only_for_a_page() -> None:
    code = "import sys, epitomes.reports, epitomes.notebook, epitomes.plot; assert 'jinja2' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
