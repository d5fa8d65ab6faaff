"""Plans in files: what was written is read, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from restoration_cases import Doubles, MeanOnly, grey, whole_methods, with_noise

from epitomes import Noise, Plan, plan
from epitomes.learn import smooth_noise
from epitomes.phi import windows
from epitomes.restoration import Method, NonLocal, Patchwise, Recipe
from epitomes.restoration.non_local import AdaptPass, AtomsPass, FeedbackPass

SIGMA = 25.0
METHODS: list[Method] = [
    NonLocal(),
    NonLocal(preset="best", residual_factor=1.2, multiscale=False),
    NonLocal(passes=(AtomsPass(patches=(8, 6), threshold=None), AdaptPass(batch=500), FeedbackPass(stride=3))),
    NonLocal(passes=()),
    Patchwise(),
    Patchwise(recipe=Recipe(lam_per_sigma=3.0, n_steps=4), blend=0.5),
    Patchwise(recipe=Recipe(epitome_shape=(42, 42), lam=9.0, forget=2.0), multiscale=True),
]


@pytest.fixture(scope="module")
def noisy() -> Doubles:
    return with_noise(grey("camera", 40), SIGMA)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plan.json"


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_there_and_back(method: Method, noisy: Doubles, path: Path) -> None:
    made = plan(noisy, SIGMA, method=method)
    made.save(path)
    found = Plan.load(path)
    assert repr(found.method) == repr(method) and found.layout == made.layout
    assert found.as_dict() == made.as_dict() and str(found) == str(made)


@pytest.mark.parametrize(
    "noise",
    [
        Noise.gaussian([3.0, 4.0, 5.0]),
        Noise.map(np.linspace(1, 9, 1600).reshape(40, 40, 1)),
        Noise.poisson_gaussian(2.0, 100.0, 3.0),
        Noise.from_spectrum(np.full((40, 40), 9.0)),
    ],
    ids=repr,
)
def test_every_noise(noise: Noise, noisy: Doubles, path: Path) -> None:
    image = np.stack([noisy] * 3, axis=-1)
    made = plan(image, noise=noise, channel_axis=-1, preset="fast")
    made.save(path)
    np.testing.assert_array_equal(Plan.load(path).run(image).image, made.run(image).image)


@pytest.mark.slow
@whole_methods
def test_a_plan_that_was_searched_for(path: Path) -> None:
    image = with_noise(grey("camera", 70), SIGMA)
    made = plan(image, time=600.0)
    made.save(path)
    found = Plan.load(path)
    assert found.trials == made.trials and found.reasons == made.reasons and found.time == 600.0
    assert found.noise.estimated and found.noise.doubts == made.noise.doubts
    np.testing.assert_array_equal(found.run(image[:32, :33]).image, made.run(image[:32, :33]).image)


class TestWriting:
    def test_files_are_not_replaced_unasked(self, noisy: Doubles, path: Path) -> None:
        made = plan(noisy, SIGMA, preset="fast")
        made.save(path)
        before = path.read_bytes()
        with pytest.raises(FileExistsError, match="exists already"):
            plan(noisy, SIGMA, preset="best").save(path)
        assert path.read_bytes() == before
        plan(noisy, SIGMA, preset="best").save(path, overwrite=True)
        assert Plan.load(path).method.label == "best" and len(list(path.parent.iterdir())) == 1

    @pytest.mark.parametrize("kind", [NonLocal, Patchwise])
    def test_an_epitome_has_its_own_file(self, kind: Any, noisy: Doubles, path: Path) -> None:
        epitome = smooth_noise(windows((16, 16), (6, 6)))
        with pytest.raises(ValueError, match=r"holds an epitome.*epitomes.save.*epitome=epitomes.load"):
            plan(noisy, SIGMA, method=kind(epitome=epitome)).save(path)
        with pytest.raises(ValueError, match="holds an epitome"):
            plan(noisy, SIGMA, method=Patchwise(recipe=Recipe(start=epitome))).save(path)
        assert not path.exists()

    def test_what_else_does_not_fit(self, noisy: Doubles, path: Path) -> None:
        with pytest.raises(TypeError, match="keep the code that makes the method"):
            plan(noisy, SIGMA, method=MeanOnly()).save(path)
        with pytest.raises(ValueError, match="at most 65536"):
            plan(np.zeros((300, 300)), noise=Noise.map(np.ones((300, 300))), preset="fast").save(path)
        assert not path.exists()


def _change(values: dict[str, Any], where: str, value: Any) -> None:
    *way, last = where.split(".")
    for name in way:
        values = values[name]
    if value is ...:
        del values[last]
    else:
        values[last] = value


class TestReading:
    @pytest.mark.parametrize(
        ("where", "value", "words"),
        [
            ("format", "epitomes noise", "lacks"),
            ("version", 2, "version is 2"),
            ("version", ..., "version is None"),
            ("method", ..., "missing fields"),
            ("more", 3, r"unknown fields \['more'\]"),
            ("method", None, "nonlocal or paper"),
            ("method.name", "exec", "unknown name 'exec'"),
            ("method.name", "trial", "missing fields"),
            ("method.preset", "slow", "preset must be one of"),
            ("method.preset", ..., "missing fields"),
            ("method.command", "rm", "unknown fields"),
            ("method.residual_factor", "1", "residual_factor"),
            ("method.residual_factor", float("nan"), "residual_factor"),
            ("method.multiscale", 3, "multiscale"),
            ("method.passes", ["best"], "passes must be objects"),
            ("method.passes", [{"name": "atoms pass"}], "missing fields"),
            ("method.epitome", [1, 2], "epitome must be an Epitome"),
            ("layout", [40, 40], "layout: missing fields"),
            ("layout.shape", [40, 0], "positive integers"),
            ("layout.shape", "40", "positive integers"),
            ("layout.spatial", 5, "spatial=5"),
            ("layout.channel_axis", "C", "channel_axis"),
            ("noise", {}, "missing fields"),
            ("noise.sigma", -1, "sigma"),
            ("trials", 3, "trials must be a list"),
            ("trials", [{"name": "trial"}], "missing fields"),
            ("trials", [3], "a trial needs"),
            (
                "trials",
                [{"name": "trial", "label": "a", "gain": "b", "error": None, "seconds": 1, "fits": True}],
                "gain must be",
            ),
            ("reasons", "because", "reasons"),
            ("reasons", [1], "reasons"),
            ("seconds", "1", "seconds must be"),
            ("time", float("inf"), "time must be"),
            ("spent", None, "spent must be"),
            ("spent", True, "spent must be"),
        ],
    )
    def test_every_field_is_checked(self, where: str, value: Any, words: str, noisy: Doubles, path: Path) -> None:
        plan(noisy, SIGMA, preset="fast").save(path)
        values = json.loads(path.read_text())
        _change(values, where, value)
        path.write_text(json.dumps(values))
        with pytest.raises(ValueError, match=rf"plan.json is not a plan: .*{words}.*write one with Plan.save"):
            Plan.load(path)

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff\xfe", b"[" * 100_000])
    def test_other_files(self, content: bytes, path: Path) -> None:
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not a plan"):
            Plan.load(path)

    def test_files_that_are_not_there(self, path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            Plan.load(path)
