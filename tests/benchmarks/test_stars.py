"""Star fields: the simulation is what it says, and fluxes are kept."""

from __future__ import annotations

import pytest

from benchmarks.real_noise.stars import BAR, fluxes, measure, star_field


def test_the_fluxes_of_a_field_without_noise_are_those_of_its_stars() -> None:
    field = star_field(0, width=2.6, side=128, stars=8)
    assert field.frame.shape == (128, 152) and (field.significance > 0).all()
    whole = fluxes(field.clean, field.place).sum()
    assert whole == pytest.approx((field.clean[:, :128] - 1060).sum(), rel=0.01)
    quiet = field.frame[:, 128:]
    assert quiet.mean() == pytest.approx(1000, abs=0.2) and quiet.std() == pytest.approx(3, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("width", [2.0, 3.5])
def test_fluxes_are_kept_and_no_star_is_lost(width: float) -> None:
    row = measure(star_field(0, width=width), width, 0, threads=1)
    assert row.stars > 30 and row.lost == 0
    assert abs(row.bias) < BAR and row.scatter < 1.3 * row.noisy_scatter
    assert "Poisson-Gaussian" in row.decided and "hot pixels" in row.notes
