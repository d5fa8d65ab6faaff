"""What medical, microscope, camera and video files say arrives in the next file: affine, attributes, levels, times."""

from __future__ import annotations

import gzip
import io
from fractions import Fraction
from pathlib import Path

import format_cases as cases
import numpy as np
import pytest
from format_cases import changed

from epitomes.formats import Picture, read, write

# NIfTI and DICOM


@pytest.mark.parametrize("name", ["example4d.nii.gz", "anatomical.nii", "functional.nii", "example_nifti2.nii.gz"])
def test_real_nifti_files_come_back_byte_for_byte(tmp_path: Path, name: str) -> None:
    nibabel = pytest.importorskip("nibabel", reason="nibabel is not installed")
    source = Path(nibabel.__file__).parent / "tests" / "data" / name
    if not source.is_file():
        pytest.skip("this nibabel comes without its test pictures")
    picture = read(source)
    assert picture.axes in ("TZYX", "ZYX") and picture.units["X"] == "mm"
    assert write(tmp_path / "a.nii", picture) == ()
    raw = source.read_bytes()
    assert (tmp_path / "a.nii").read_bytes() == (gzip.decompress(raw) if name.endswith("gz") else raw)


def test_affine_extension_and_scale_pass(tmp_path: Path, rng: np.random.Generator) -> None:
    nibabel = pytest.importorskip("nibabel", reason="nibabel is not installed")
    affine = np.array([[-2, 0.1, 0, 90], [0, 2, 0.3, -126], [0, 0, 2.5, -72], [0, 0, 0, 1.0]])
    image = nibabel.Nifti1Image(cases.some(rng, "int16", (7, 9, 4)), affine)
    image.header.set_slope_inter(0.5, 3)
    image.header.set_xyzt_units("mm", "sec")
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"a scan"))
    image.header["descrip"] = b"bold"
    nibabel.save(image, tmp_path / "a.nii.gz")
    picture = read(tmp_path / "a.nii.gz")
    np.testing.assert_array_equal(picture.pixels, np.asarray(image.dataobj).T)
    assert "multiplies them by 0.5" in picture.notes[0]
    write(tmp_path / "b.nii.gz", changed(picture))
    back = nibabel.load(tmp_path / "b.nii.gz")
    np.testing.assert_allclose(back.affine, affine)
    assert (back.dataobj.slope, back.dataobj.inter) == (0.5, 3.0) and back.header["descrip"] == b"bold"
    assert back.header.extensions[0].get_content() == b"a scan"
    np.testing.assert_allclose(back.get_fdata(), 0.5 * changed(picture).pixels.T + 3)


def test_a_picture_from_elsewhere_gets_an_affine_in_millimetres(tmp_path: Path) -> None:
    nibabel = pytest.importorskip("nibabel", reason="nibabel is not installed")
    steps, units = {"X": 500.0, "Y": 250.0, "Z": 2.0, "T": 40.0}, {"X": "um", "Y": "um", "Z": "mm", "T": "ms"}
    write(tmp_path / "a.nii", Picture(np.zeros((2, 3, 4, 5), np.float32), "TZYX", steps, units))
    image = nibabel.load(tmp_path / "a.nii")
    np.testing.assert_allclose(np.diag(image.affine), [0.5, 0.25, 2.0, 1.0])
    assert image.header.get_zooms()[3] == pytest.approx(0.04) and image.header.get_xyzt_units() == ("mm", "sec")


DICOM = {
    "CT_small.dcm": ((128, 128), "YX", "int16"),
    "MR_small_RLE.dcm": ((64, 64), "YX", "int16"),
    "MR_small_bigendian.dcm": ((64, 64), "YX", "int16"),
    "SC_rgb_rle_16bit_2frame.dcm": ((2, 100, 100, 3), "ZYXC", "uint16"),
    "rtdose.dcm": ((15, 10, 10), "ZYX", "uint32"),
}


@pytest.mark.parametrize("name", DICOM)
def test_dicom(tmp_path: Path, name: str) -> None:
    pydicom = pytest.importorskip("pydicom", reason="pydicom is not installed")
    source = Path(pydicom.__file__).parent / "data" / "test_files" / name
    if not source.is_file():
        pytest.skip("this pydicom comes without its test pictures")
    shape, axes, dtype = DICOM[name]
    picture = read(source)
    assert (picture.pixels.shape, picture.axes, picture.pixels.dtype) == (shape, axes, dtype)
    np.testing.assert_array_equal(picture.pixels, pydicom.pixels.pixel_array(pydicom.dcmread(source)))
    patient = str(pydicom.dcmread(source).get("PatientName", ""))
    assert not patient or patient not in repr(picture)  # nobody is named
    if name == "CT_small.dcm":
        assert dict(picture.spacing) == pytest.approx({"Y": 0.661468, "X": 0.661468}) and "-1024" in picture.notes[0]
        write(tmp_path / "a.tif", picture)
        assert dict(read(tmp_path / "a.tif").spacing) == dict(picture.spacing)


# Zarr, RAW, video


@pytest.mark.parametrize("version", [2, 3])
def test_ome_zarr_attributes_origin_and_levels_pass(tmp_path: Path, version: int, rng: np.random.Generator) -> None:
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    pixels = cases.some(rng, "uint16", (2, 40, 50))
    axes = [{"name": "c", "type": "channel"}] + [
        {"name": letter, "type": "space", "unit": "micrometer"} for letter in "yx"
    ]
    changes = [
        {"type": "scale", "scale": [1.0, 0.5, 0.25]},
        {"type": "translation", "translation": [0.0, 10.0, 20.0]},
    ]
    levels = [{"path": f"s{i}", "coordinateTransformations": changes} for i in range(2)]
    scales = {"axes": axes, "datasets": levels, "name": "cells"}
    omero = {"channels": [{"label": "DAPI", "color": "0000FF"}, {"label": "GFP", "color": "00FF00"}]}
    home = {"multiscales": [scales | ({"version": "0.4"} if version == 2 else {})], "omero": omero}
    attributes = home if version == 2 else {"ome": {"version": "0.5", **home}}
    group = zarr.create_group(
        store=zarr.storage.LocalStore(tmp_path / "a.zarr"), zarr_format=version, attributes={**attributes, "mine": 7}
    )
    group.create_array("s0", data=pixels, chunks=(1, 16, 16))
    group.create_array("s1", data=pixels[:, ::2, ::2].copy(), chunks=(1, 16, 16))
    picture = read(tmp_path / "a.zarr")
    assert picture.axes == "CYX" and dict(picture.spacing) == {"Y": 0.5, "X": 0.25} and picture.units["X"] == "um"
    np.testing.assert_array_equal(picture.pixels, pixels)
    assert write(tmp_path / "b.ome.zarr", changed(picture)) == ()
    back = zarr.open_group(tmp_path / "b.ome.zarr", mode="r")
    new = back.attrs["ome"] if version == 3 else back.attrs
    assert back.metadata.zarr_format == version and back.attrs["mine"] == 7 and new["omero"] == omero
    first, second = new["multiscales"][0]["datasets"]
    assert first["coordinateTransformations"] == changes and new["multiscales"][0]["name"] == "cells"
    assert second["coordinateTransformations"][0]["scale"] == [1.0, 1.0, 0.5]
    assert second["coordinateTransformations"][1]["translation"] == [0.0, 10.25, 20.125]
    means = changed(picture).pixels.reshape(2, 20, 2, 25, 2).mean(axis=(2, 4))
    assert np.abs(back[second["path"]][...] - means).max() <= 0.5
    np.testing.assert_array_equal(read(tmp_path / "b.ome.zarr").pixels, changed(picture).pixels)


def test_large_zarr_has_levels(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    write(tmp_path / "a.zarr", np.zeros((1100, 1030), np.uint8))
    group = zarr.open_group(tmp_path / "a.zarr", mode="r")
    assert [group[str(i)].shape for i in range(3)] == [(1100, 1030), (550, 515), (275, 258)]
    assert group["0"].chunks == (512, 512)


def test_plain_zarr_array(tmp_path: Path, rng: np.random.Generator) -> None:
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    pixels = cases.some(rng, "uint16", (3, 9, 7))
    array = zarr.create_array(
        zarr.storage.LocalStore(tmp_path / "a.zarr"), data=pixels, dimension_names=["t", "y", "x"]
    )
    assert array.shape == pixels.shape
    assert read(tmp_path / "a.zarr").axes == "TYX"
    np.testing.assert_array_equal(read(tmp_path / "a.zarr").pixels, pixels)


def test_times_of_frames_and_titles_pass(tmp_path: Path, rng: np.random.Generator) -> None:
    av = pytest.importorskip("av", reason="av is not installed")
    frames = cases.some(rng, "uint8", (4, 20, 30))
    with av.open(tmp_path / "a.mkv", "w") as video:
        video.metadata["title"] = "a film"
        stream = video.add_stream("ffv1", rate=25)
        stream.height, stream.width, stream.pix_fmt = 20, 30, "gray"
        stream.codec_context.time_base = Fraction(1, 1000)
        for pts, frame in zip((0, 40, 200, 240), frames, strict=True):
            shown = av.VideoFrame.from_ndarray(frame, format="gray")
            shown.pts, shown.time_base = pts, Fraction(1, 1000)
            video.mux(stream.encode(shown))
        video.mux(stream.encode(None))
    picture = read(tmp_path / "a.mkv")
    assert picture.axes == "TYX" and picture.spacing["T"] == pytest.approx(0.08)
    np.testing.assert_array_equal(picture.pixels, frames)
    write(tmp_path / "b.mkv", changed(picture))
    with av.open(tmp_path / "b.mkv") as video:
        assert [round(1000 * frame.time) for frame in video.decode(video=0)] == [0, 40, 200, 240]
        assert {name.lower(): value for name, value in video.metadata.items()}["title"] == "a film"


def test_colour_video_of_a_phone_is_rgb(tmp_path: Path) -> None:
    av = pytest.importorskip("av", reason="av is not installed")
    content = io.BytesIO()
    with av.open(content, "w", format="mp4") as video:
        stream = video.add_stream("mpeg4", rate=30)
        stream.height, stream.width, stream.pix_fmt = 32, 48, "yuv420p"
        for level in (40, 120, 200):
            video.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((32, 48, 3), level, np.uint8), format="rgb24")))
        video.mux(stream.encode(None))
    (tmp_path / "a.mp4").write_bytes(content.getvalue())
    picture = read(tmp_path / "a.mp4")
    assert (picture.axes, picture.pixels.shape, picture.pixels.dtype) == ("TYXC", (3, 32, 48, 3), np.uint8)
    assert picture.spacing["T"] == pytest.approx(1 / 30) and "yuv420p" in picture.notes[0]
    np.testing.assert_allclose(picture.pixels.mean(axis=(1, 2, 3)), [40, 120, 200], atol=4)


def test_spacing_crosses_formats(tmp_path: Path) -> None:
    """A volume goes through all formats that keep distances, and arrives with the same ones."""
    pytest.importorskip("nibabel", reason="nibabel is not installed")
    pytest.importorskip("zarr", reason="zarr is not installed")
    pytest.importorskip("astropy", reason="astropy is not installed")
    picture = Picture(np.zeros((4, 9, 7), np.float32), "ZYX", cases.STEPS, cases.UNITS)
    for suffix in (".nii.gz", ".ome.tif", ".fits", ".zarr", ".tif", ".npz", ".btf", ".nii"):
        write(tmp_path / f"a{suffix}", picture)
        picture = read(tmp_path / f"a{suffix}")
    assert dict(picture.spacing) == pytest.approx({"Z": 2.5, "Y": 0.25, "X": 0.125})
    assert set(picture.units.values()) == {"mm"}
