"""The report as text: structure, escaping, numbers, sizes. Browsers have their say in test_reports_browser.py."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from page_reader import Reader
from PIL import Image
from report_cases import NASTY, SIGMA, Errors, Noise, Risk, Verdict, bare, images, story, without_epitome

from epitomes.coders import OLS
from epitomes.epitome import Epitome
from epitomes.learn import start
from epitomes.patches import Patches
from epitomes.phi import as_matrix, shift_invariant, subpixel, turned, union, windows
from epitomes.reports import Story, read_figures, report, write_report
from epitomes.reports.pictures import busiest, reduced
from epitomes.reports.usage import HELD, MOST_PATCHES, heaviest, laid_out, usage, windows_of
from epitomes.restoration import Restored


def test_a_page_has_all_its_parts(rng: np.random.Generator) -> None:
    read = Reader(report(story(rng, notes=("plane 3 of 12",))))
    for heading in ("Before and after", "Can it be believed?", "What was taken away", "Numbers", "Run it again"):
        assert heading in read.words
    told = ("Plane 3 of 12.", "estimated PSNR 29.50 dB", "the audit passes", "learning", "--report out.html")
    assert all(words in read.words for words in told)
    assert len(read.all("h1")) == len(read.all("main")) == len(read.all("header")) == 1
    assert len(read.all("nav")) == 1 and read.all("html")[0]["lang"] == "en"
    assert len(read.all("svg")) == 1  # the objective
    labels = {one["for"] for one in read.all("label")}
    assert {one["id"] for one in read.all("input")} == labels == {"whole-cut"}
    pictures = read.all("img")
    assert len(pictures) == 7  # before, after, residual, error, leak, epitome, its use
    for one in pictures:
        assert one["alt"] and one["src"].startswith("data:image/png;base64,")  # type: ignore[union-attr]
        file = Image.open(io.BytesIO(base64.b64decode(one["src"].split(",")[1])))  # type: ignore[union-attr]
        assert int(one["width"]) % file.width == 0 == int(one["height"]) % file.height  # type: ignore[arg-type]


def test_before_and_after_are_the_images(rng: np.random.Generator) -> None:
    told = story(rng, dtype="uint8")
    pictures = {one["class"]: one["src"] for one in Reader(report(told)).all("img")[:2]}
    for kind, pixels in (("before sharp", told.noisy), ("after sharp", told.restored.image)):
        file = Image.open(io.BytesIO(base64.b64decode(pictures[kind].split(",")[1])))  # type: ignore[union-attr]
        np.testing.assert_array_equal(np.asarray(file), pixels)


def test_only_its_own_script_and_styles_may_run(rng: np.random.Generator) -> None:
    text = report(story(rng))
    policy = next(one["content"] for one in Reader(text).all("meta") if "http-equiv" in one)
    assert policy is not None and "unsafe" not in policy and policy.startswith("default-src 'none'; img-src data:;")
    for kind in ("script", "style"):
        allowed = set(re.search(rf"{kind}-src ([^;]*)", policy)[1].split())  # type: ignore[index]
        contents = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in contents]
        assert contents and allowed == {f"'sha256-{digest}'" for digest in digests}


def test_nothing_is_fetched(rng: np.random.Generator) -> None:
    text = report(story(rng))
    read = Reader(text)
    links = [value for _, one in read.found for name, value in one.items() if name in ("src", "href", "action", "data")]
    assert links and all(link is not None and link.startswith(("data:image/png;", "#")) for link in links)
    assert set(re.findall(r"https?://[^\"' ]*", text)) <= {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import\()|@import|url\(", text)


def test_hostile_words_stay_words(rng: np.random.Generator) -> None:
    told = story(
        rng,
        name=NASTY,
        command=NASTY,
        notes=(NASTY,),
        noise=Noise(reliable=False, reason=NASTY),
        audit=Verdict(np.zeros((72, 96)), "warn", (NASTY,), (NASTY,)),
        seconds={NASTY: 1.0},
        settings={NASTY: NASTY},
    )
    text = report(told)
    read = Reader(text)
    assert NASTY not in text and [one.get("id") for one in read.all("script")] == ["figures", None]
    assert read.words.count(NASTY) >= 8  # each came through, as text
    assert not any("onerror" in one for _, one in read.found)


def test_names_that_no_text_can_hold(rng: np.random.Generator, tmp_path: Path) -> None:
    write_report(tmp_path / "a.html", story(rng, name=b"scan-\xff.png".decode("utf-8", "surrogateescape")))
    assert "scan-?.png" in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert read_figures(tmp_path / "a.html")["name"] == "scan-\udcff.png"


def test_the_numbers_come_back(rng: np.random.Generator, tmp_path: Path) -> None:
    told = story(rng, name=NASTY, settings={"big": float("inf"), "whole": np.int64(3), "none": None})
    write_report(tmp_path / "r.html", told)
    found = read_figures(tmp_path / "r.html")
    json.dumps(found, allow_nan=False)
    assert (found["name"], found["shape"], found["sigma"]) == (NASTY, [72, 96], SIGMA)
    assert found["settings"] == {"big": None, "whole": 3, "none": None}
    assert found["noise"]["low"] == 19.5 and found["audit"]["variance"] == 0.97
    assert found["sure"]["interval"] == [29.1, None]
    assert found["learning"]["steps"][6]["objective"] == pytest.approx(100 / 7)
    residual = np.float64(told.noisy) - told.restored.image
    assert found["residual"]["deviation"] == pytest.approx(residual.std(), rel=1e-4)
    assert found["picture"] == {
        "factor": 1,
        "black": pytest.approx(found["picture"]["black"]),
        "white": found["picture"]["white"],
    }


def test_the_parts_of_the_library_are_understood(rng: np.random.Generator) -> None:
    from epitomes.noise import PoissonFit, PoissonGaussian, estimate_noise
    from epitomes.validation import audit, error_map

    noisy, restored = images(rng, (96, 96))
    smooth = story(rng, (96, 96)).restored
    errors = error_map(noisy, restored, SIGMA, lambda image: np.asarray(image) * 0.9, rng=0)
    told = Story(
        noisy=noisy,
        restored=Restored(restored, smooth.epitome, None, 1.0, 1.0),
        sigma=SIGMA,
        noise=estimate_noise(noisy),
        audit=audit(noisy, restored, SIGMA),
        sure=errors.sure,
        error=errors,
    )
    read = Reader(report(told))
    assert "90 % interval, low end" in read.words and "What the audit measured" in read.words
    fit = PoissonFit(PoissonGaussian(0.5, 1.0, 2.0), 0.4, 0.6, True, "")
    assert "model gain" in Reader(report(story(rng, noise=fit))).words


def test_only_the_images_are_needed(rng: np.random.Generator) -> None:
    told = bare(start.smooth_noise(windows((20, 20), (8, 8))), images(rng, (40, 50))[0])
    read = Reader(report(told))
    assert "not audited" in read.words and "given" in read.words and "Run it again" not in read.words
    assert "restoring" in read.words  # the seconds of the restoration stand in


def test_methods_without_an_epitome(rng: np.random.Generator) -> None:
    told = story(rng)
    read = Reader(report(Story(noisy=told.noisy, restored=without_epitome(told.restored), sigma=SIGMA)))
    assert "epitome, and where" not in read.words and len(read.all("img")) == 3
    assert "Seconds" not in read.words and "nan" not in read.words  # nobody knows them


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(40, 33), (40, 33, 3), (40, 33, 1)])
def test_all_images_of_one_plane(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    told = story(rng, (*shape[:2], 3) if shape[2:] == (3,) else shape[:2], dtype)
    if shape[2:] == (1,):
        image = told.restored.image[..., None]
        told = Story(noisy=told.noisy[..., None], restored=Restored(image, told.restored.epitome, None, 1, 1), sigma=1)
    kept = told.noisy.copy()
    before = Reader(report(told)).all("img")[0]["src"]
    file = Image.open(io.BytesIO(base64.b64decode(before.split(",")[1])))  # type: ignore[union-attr]
    assert (file.mode, file.size) == ("RGB" if shape[2:] == (3,) else "L", (33, 40))
    np.testing.assert_array_equal(told.noisy, kept)


def test_colours_that_were_coded_one_by_one(rng: np.random.Generator) -> None:
    noisy, _ = images(rng, (40, 48, 3))
    used = usage(noisy, start.smooth_noise(windows((14, 14), (6, 6))), SIGMA)
    assert used is not None and used.sheet.ndim == 2 and used.numbers.min() < len(used.windows)


def test_no_map_where_none_can_be(rng: np.random.Generator) -> None:
    noisy, _ = images(rng, (40, 48))
    assert usage(noisy, start.smooth_noise(windows((14, 14, 3), (6, 6, 3))), SIGMA) is None  # colour patches
    assert usage(noisy, start.smooth_noise(windows((60, 60), (50, 6))), SIGMA) is None  # larger than the image
    assert usage(noisy, start.smooth_noise(windows((30,), (8,))), SIGMA) is None  # signals
    assert "The epitome" in report(bare(start.smooth_noise(windows((60, 60), (50, 6))), noisy))


# A page stays small, and says what that costs.


def test_large_images_are_reduced_and_the_page_says_so(rng: np.random.Generator, tmp_path: Path) -> None:
    shape = (700, 640, 3)
    noisy = rng.integers(0, 256, shape, dtype=np.uint8)  # nothing is harder to compress
    epitome = start.smooth_noise(windows((20, 15, 15), (8, 8)))
    told = Story(
        noisy=noisy,
        restored=Restored(noisy[::-1].copy(), epitome, None, 1.0, 1.0),
        sigma=60.0,
        audit=Verdict(rng.random(shape[:2])),
        error=Errors(rng.random(shape)),
    )
    write_report(tmp_path / "large.html", told)
    assert (tmp_path / "large.html").stat().st_size <= 6_000_000
    read = Reader((tmp_path / "large.html").read_text(encoding="utf-8"))
    factor = read_figures(tmp_path / "large.html")["picture"]["factor"]
    assert factor > 1 and f"{factor} times smaller" in read.words
    assert {one["id"] for one in read.all("input")} == {"whole-cut", "detail-cut"}
    detail = next(one["src"] for one in read.all("img") if one["alt"] == "The noisy detail of the image")
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(detail.split(",")[1]))))  # type: ignore[union-attr]
    top, left = map(int, re.search(r"from row (\d+), column (\d+)", read.words).groups())  # type: ignore[union-attr]
    np.testing.assert_array_equal(pixels, noisy[top : top + 320, left : left + 320])  # not reduced


@pytest.mark.parametrize("shape", [(7, 11), (12, 9, 3), (5, 5)])
def test_reduced_images_are_means(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    image = rng.standard_normal(shape)
    small = reduced(image, 3)
    for y, x in np.ndindex(*small.shape[:2]):
        block = image[3 * y : 3 * y + 3, 3 * x : 3 * x + 3]
        np.testing.assert_allclose(small[y, x], block.mean(axis=(0, 1)))


def test_the_detail_is_where_something_is() -> None:
    image = np.zeros((100, 130))
    image[45:55, 85:95] = np.eye(10)
    assert busiest(image, 40) == (40, 80)
    assert busiest(np.zeros((5, 5)), 40) == (0, 0)


@pytest.mark.parametrize("shape", [(700, 600), (8, 60_000), (208, 208)])
def test_the_map_is_small_and_reaches_all_borders(shape: tuple[int, int], rng: np.random.Generator) -> None:
    used = usage(rng.standard_normal(shape).astype(np.float32), start.smooth_noise(windows((9, 9), (8, 8))), 5.0)
    assert used is not None and used.numbers.shape == (len(used.rows), len(used.columns), HELD)
    assert len(used.rows) * len(used.columns) <= MOST_PATCHES
    assert (used.rows[-1] + 8, used.columns[-1] + 8) == shape and used.rows[0] == used.columns[0] == 0


# The map says which windows code a patch, and where windows lie.


def test_the_map_holds_the_weightiest_windows(rng: np.random.Generator) -> None:
    told = story(rng)
    epitome = told.restored.epitome
    patches = Patches(told.noisy, (6, 6))
    codes = OLS(residual=36 * (1.15 * SIGMA) ** 2, n_nonzero=16).encode(patches, epitome.dictionary.astype(np.float32))
    used = usage(told.noisy, epitome, SIGMA)
    assert used is not None and used.stride == 1
    packed = used.as_dict()
    numbers = np.frombuffer(base64.b64decode(packed["numbers"]), "<u2").reshape(len(patches), HELD)
    places = np.frombuffer(base64.b64decode(packed["windows"]), "<u2").reshape(-1, 5)
    everywhere = windows_of(epitome.phi)
    for number in range(0, len(patches), 7):
        row = codes[[number]].toarray()[0] * epitome.dictionary.norms
        best = [atom for atom in np.argsort(-np.abs(row), kind="stable")[:HELD] if row[atom] != 0]
        kept = [one for one in numbers[number] if one < len(places)]
        np.testing.assert_array_equal(places[kept], everywhere[best])
    assert (numbers == len(places)).any() and (numbers < len(places)).any()  # flat patches, and others


def test_ties_and_empty_codes() -> None:
    codes = OLS(n_nonzero=1).encode(
        np.array([[0.0, 0.0], [3.0, 0.0]]), Epitome(np.eye(2), windows((2, 2), (1, 2))).dictionary
    )
    assert heaviest(codes, np.ones(2)).tolist() == [[-1] * HELD, [0] + [-1] * (HELD - 1)]


PHIS = {
    "one": windows((9, 12), (4, 5)),
    "several": windows((3, 9, 8), (4, 5)),
    "torus": windows((9, 12), (4, 5), border="periodic"),
    "cylinders": windows((2, 9, 12), (4, 5), border=("valid", "periodic")),
    "colour": windows((2, 9, 8, 3), (4, 5, 3)),
    "flat": shift_invariant(5, (4, 4), 1),
    "turned": turned(windows((9, 8), (4, 5))),
    "union": union(windows((6, 7), (4, 5)), windows((2, 9, 5), (4, 5))),
}


@pytest.mark.parametrize("phi", PHIS.values(), ids=PHIS)
def test_windows_hold_the_pixels_of_their_atoms(phi) -> None:
    pixels = np.arange(np.prod(phi.epitome_shape), dtype=float).reshape(phi.epitome_shape)
    tiles, sheet = laid_out(Epitome(pixels, phi))
    taken = np.zeros(sheet.shape[:2], int)
    for top, left, tall, wide in tiles.tolist():
        taken[top : top + tall, left : left + wide] += 1
    assert taken.max() == 1 and taken.sum() == (tiles[:, 2].astype(int) * tiles[:, 3]).sum()  # beside each other
    channels = phi.patch_shape[2] if len(phi.patch_shape) == 3 else 1
    starts = np.cumsum([0, *(int(t[2]) * int(t[3]) * channels for t in tiles)])
    for (tile, top, left, height, width), atom in zip(windows_of(phi).tolist(), phi.index, strict=True):
        tall, wide = map(int, tiles[tile][2:])
        seen = (atom - starts[tile]) // channels
        held = {((top + y) % tall, (left + x) % wide) for y in range(height) for x in range(width)}
        assert held == set(zip((seen // wide).tolist(), (seen % wide).tolist(), strict=True))


def test_windows_between_pixels() -> None:
    phi = subpixel(windows((9, 10), (4, 4)), [(0.5, 0.25)])
    matrix = as_matrix(phi)
    for atom, (tile, top, left, height, width) in enumerate(windows_of(phi).tolist()):
        pixels = np.unique(matrix[atom * 16 : (atom + 1) * 16].indices)
        rows, columns = pixels // 10, pixels % 10
        assert (tile, top, left) == (0, rows.min(), columns.min())
        assert (height, width) == (np.ptp(rows) + 1, np.ptp(columns) + 1)


# What is refused.


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"noisy": np.zeros((4, 40, 50))}, "one plane"),
        ({"noisy": np.zeros(50)}, "one plane"),
        ({"noisy": np.zeros((50, 50))}, "they must be equal"),
        ({"sigma": -1.0}, "0 or above"),
        ({"sigma": float("nan")}, "0 or above"),
        ({"sigma": np.zeros(0)}, "0 or above"),
        ({"error": Errors(np.zeros((9, 9)))}, "the error map has the shape"),
        ({"audit": Verdict(np.zeros((9, 9)))}, "the leak map has the shape"),
    ],
)
def test_stories_that_make_no_sense(changes: dict, words: str, rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=words):
        story(rng, **changes)


def test_levels_that_are_not_one_number(rng: np.random.Generator, tmp_path: Path) -> None:
    write_report(tmp_path / "a.html", story(rng, (40, 48, 3), sigma=np.array([3.0, 4.0, 5.0])))
    write_report(tmp_path / "b.html", story(rng, sigma=np.full((72, 96), 7.0), sure=Risk(float("inf"))))
    assert read_figures(tmp_path / "a.html")["sigma"] == [3.0, 4.0, 5.0]
    assert read_figures(tmp_path / "b.html")["sigma"] == pytest.approx(7.0)
    assert "too high to be told" in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_nothing_was_taken_away(rng: np.random.Generator) -> None:
    told = story(rng, sigma=0.0)
    same = Restored(told.noisy, told.restored.epitome, None, 1.0, 1.0)
    assert "Before and after" in report(Story(noisy=told.noisy, restored=same, sigma=0.0))


def test_files_are_kept_unless_told(rng: np.random.Generator, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="exists already"):
        write_report(path, story(rng))
    assert path.read_text() == "mine"
    with pytest.raises(ValueError, match="no report"):
        read_figures(path)
    write_report(str(path), story(rng), overwrite=True)
    assert read_figures(path)["format"] == "epitomes report" and sorted(tmp_path.iterdir()) == [path]
    with pytest.raises(TypeError, match="a Story"):
        write_report(path, "story", overwrite=True)  # type: ignore[arg-type]


def test_the_same_story_gives_the_same_page() -> None:
    first, second = (report(story(np.random.default_rng(5))) for _ in range(2))
    assert first == second
