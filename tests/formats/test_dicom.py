"""DICOM: every kind of JPEG is decoded, and a result is a derived image of its source."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import format_cases as cases
import numpy as np
import pytest
from format_cases import refused
from numpy.typing import NDArray

from epitomes.cli.main import main
from epitomes.formats import ImageFileError, Picture, read, write

pydicom: Any = pytest.importorskip("pydicom", reason="pydicom is not installed")
FILES = Path(pydicom.__file__).parent / "data" / "test_files"


def needed(name: str) -> Path:
    if not (FILES / name).is_file():
        pytest.skip("this pydicom comes without its test pictures")
    return FILES / name


LOSSLESS, JPEG_LS, JPEG_2000, EXTENDED = (f"1.2.840.10008.1.2.4.{number}" for number in (70, 80, 90, 51))


def packed(pixels: NDArray[Any], syntax: str, bits: int) -> bytes:
    """An encapsulated image with `bits` of 8 or 16, as a scanner stores it."""
    import imagecodecs

    plain = pixels.view(f"u{pixels.dtype.itemsize}") & (2**bits - 1)
    frame = {
        LOSSLESS: lambda: imagecodecs.ljpeg_encode(plain, bitspersample=bits),
        JPEG_LS: lambda: imagecodecs.jpegls_encode(plain),
        JPEG_2000: lambda: imagecodecs.jpeg2k_encode(plain, reversible=True, codecformat="j2k", bitspersample=bits),
        EXTENDED: lambda: imagecodecs.jpeg8_encode(plain, level=100, bitspersample=bits),
    }[syntax]()
    data = pydicom.dcmread(io.BytesIO(cases.dicom(pixels, BitsStored=bits, HighBit=bits - 1)))
    data.PixelData = pydicom.encaps.encapsulate([bytes(frame)])
    data["PixelData"].is_undefined_length = True
    data["PixelData"].VR = "OB"
    data.file_meta.TransferSyntaxUID = pydicom.uid.UID(syntax)
    content = io.BytesIO()
    pydicom.dcmwrite(content, data)
    return content.getvalue()


@pytest.mark.parametrize("syntax", [LOSSLESS, JPEG_LS, JPEG_2000])
@pytest.mark.parametrize(
    ("dtype", "bits"), [("uint8", 8), ("uint16", 16), ("uint16", 12), ("int16", 16), ("int16", 12)]
)
def test_lossless_jpeg_is_decoded_exactly(
    tmp_path: Path, rng: np.random.Generator, syntax: str, dtype: str, bits: int
) -> None:
    low = -(2 ** (bits - 1)) if dtype == "int16" else 0
    pixels = rng.integers(low, low + 2**bits, (24, 20)).astype(dtype)
    (tmp_path / "a.dcm").write_bytes(packed(pixels, syntax, bits))
    back = read(tmp_path / "a.dcm")
    assert back.pixels.dtype == dtype
    np.testing.assert_array_equal(back.pixels, pixels)
    write(tmp_path / "b.dcm", back)
    np.testing.assert_array_equal(pydicom.dcmread(tmp_path / "b.dcm").pixel_array, pixels)


def test_twelve_bits_of_jpeg_are_decoded(tmp_path: Path) -> None:
    ramp = np.add.outer(np.arange(24), np.arange(20)).astype(np.uint16) * 60
    (tmp_path / "a.dcm").write_bytes(packed(ramp, EXTENDED, 12))
    back = read(tmp_path / "a.dcm").pixels
    assert back.dtype == np.uint16 and back.max() > 2000 and np.abs(back.astype(int) - ramp).max() < 20


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("MR_small_jpeg_ls_lossless.dcm", "MR_small.dcm"),
        ("SC_rgb_jpeg_gdcm.dcm", "SC_rgb_rle.dcm"),
        ("SC_rgb_jls_lossy_line.dcm", "SC_rgb_rle.dcm"),
        ("SC_rgb_jls_lossy_sample.dcm", "SC_rgb_rle.dcm"),
        ("JPGExtended.dcm", "JPEG-lossy.dcm"),
    ],
)
def test_real_files_that_need_a_codec(name: str, other: str) -> None:
    found, expected = read(needed(name)).pixels, read(needed(other)).pixels
    assert found.dtype == expected.dtype and np.abs(found.astype(int) - expected).max() <= 10 * ("lossy" in name)


# A derived image


@pytest.mark.filterwarnings("ignore:Invalid value for VR UI")
@pytest.mark.parametrize(
    "name",
    [
        "CT_small.dcm",
        "MR_small_bigendian.dcm",
        "MR_small_implicit.dcm",
        "MR_small_RLE.dcm",
        "SC_rgb_rle_16bit_2frame.dcm",
        "SC_rgb_jpeg_dcmtk.dcm",
        "SC_rgb_small_odd.dcm",
        "rtdose.dcm",
        "693_J2KI.dcm",
        "examples_overlay.dcm",
    ],
)
def test_everything_but_the_pixels_is_kept(tmp_path: Path, name: str) -> None:
    source = needed(name)
    picture = read(source)
    other = picture.replace(picture.pixels[..., ::-1, :] if picture.axes[-1] == "C" else picture.pixels[..., ::-1])
    history = ["epitomes denoise a.dcm", "noise: Gaussian, sigma 9"]
    assert write(tmp_path / "a.dcm", other.replace(other.pixels, history=history)) == ()
    old, new = pydicom.dcmread(source), pydicom.dcmread(tmp_path / "a.dcm")
    np.testing.assert_array_equal(new.pixel_array, other.pixels)
    assert new.SOPInstanceUID == new.file_meta.MediaStorageSOPInstanceUID != old.SOPInstanceUID
    assert new.SOPInstanceUID.is_valid and new.file_meta.TransferSyntaxUID == pydicom.uid.ExplicitVRLittleEndian
    assert new.ImageType[0] == "DERIVED" and list(new.ImageType[1:]) == list(old.get("ImageType", ["", "PRIMARY"])[1:])
    assert new.SourceImageSequence[-1].ReferencedSOPInstanceUID == old.SOPInstanceUID
    assert new.DerivationDescription == "epitomes denoise a.dcm; noise: Gaussian, sigma 9"
    changed = {"SOPInstanceUID", "ImageType", "SourceImageSequence", "DerivationDescription", "PixelData"}
    changed |= {"PhotometricInterpretation", "PlanarConfiguration"} if picture.axes[-1] == "C" else set()
    changed |= {"SmallestImagePixelValue", "LargestImagePixelValue"}
    for element in old:
        if element.keyword not in changed and element.tag.element != 0:
            assert new[element.tag].value == element.value, element.keyword
    back = read(tmp_path / "a.dcm")
    assert (back.axes, dict(back.spacing), back.notes) == (picture.axes, dict(picture.spacing), picture.notes)


@pytest.mark.filterwarnings("ignore:The legacy `DICOM` plugin")
def test_another_reader_reads_it(tmp_path: Path) -> None:
    """That of imageio, which shares nothing with pydicom; it applies slope and intercept."""
    imageio: Any = pytest.importorskip("imageio.v2", reason="imageio is not installed")
    picture = read(needed("CT_small.dcm"))
    write(tmp_path / "b.dcm", picture.replace(picture.pixels[::-1]))
    found = imageio.imread(tmp_path / "b.dcm", format="DICOM")
    np.testing.assert_array_equal(found, picture.pixels[::-1].astype(int) - 1024)
    assert found.meta["SOPInstanceUID"].startswith("2.25.") and found.meta["PatientID"] == "1CT1"


def test_the_identifier_follows_from_the_result(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = rng.integers(0, 99, (9, 8), dtype=np.uint16)
    (tmp_path / "a.dcm").write_bytes(cases.dicom(pixels))
    picture = read(tmp_path / "a.dcm")
    for name, result in (("b", pixels + 1), ("c", pixels + 1), ("d", pixels + 2)):
        write(tmp_path / f"{name}.dcm", picture.replace(result))
    b, c, d = ((tmp_path / f"{name}.dcm").read_bytes() for name in "bcd")
    assert b == c and pydicom.dcmread(io.BytesIO(b)).SOPInstanceUID != pydicom.dcmread(io.BytesIO(d)).SOPInstanceUID


def test_values_beyond_the_stored_bits_are_clipped_and_told(tmp_path: Path) -> None:
    pixels = np.full((9, 8), -2000, np.int16)
    (tmp_path / "a.dcm").write_bytes(
        cases.dicom(pixels, BitsStored=12, HighBit=11, RescaleSlope=2, RescaleIntercept=-9)
    )
    picture = read(tmp_path / "a.dcm")
    assert "a noise level of 1 is 2 in physical units" in picture.notes[0]
    wide = pixels.copy()
    wide[0, :3] = -2050, 2047, 3000
    losses = write(tmp_path / "b.dcm", picture.replace(wide))
    assert losses == ("2 values were clipped, because the file stores 12 bits",)
    assert pydicom.dcmread(tmp_path / "b.dcm").pixel_array[0, :4].tolist() == [-2048, 2047, 2047, -2000]


def test_what_cannot_be_written_as_dicom(tmp_path: Path, rng: np.random.Generator) -> None:
    (tmp_path / "a.dcm").write_bytes(cases.dicom(rng.integers(0, 99, (9, 8), dtype=np.uint16)))
    picture = read(tmp_path / "a.dcm")
    for wrong, words in (
        (np.zeros((9, 8), np.uint16), "header of a DICOM image"),
        (Picture(np.zeros((8, 8), np.uint16), metadata=picture.metadata), "header of a DICOM image"),
        (picture.replace(picture.pixels.astype(np.float32)), r"float32 values.*\.tif"),
    ):
        with pytest.raises(ImageFileError, match=words):
            write(tmp_path / "b.dcm", wrong)
    assert write(tmp_path / "c.tif", picture) == ("TIFF does not keep the DICOM header",)
    assert "Somebody" not in repr(picture)
    (tmp_path / "d.dcm").write_bytes((tmp_path / "a.dcm").read_bytes()[:-40])
    refused(tmp_path / "d.dcm", "cannot be decoded")


def test_a_file_without_a_suffix_is_denoised(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = np.rint(rng.normal(1000, 20, (24, 24))).astype(np.uint16)
    (tmp_path / "IM0001").write_bytes(cases.dicom(pixels, BitsStored=12, HighBit=11))
    out = tmp_path / "out"
    out.mkdir()
    assert main(["denoise", str(tmp_path / "IM0001"), "-o", str(out), "--sigma", "20", "--preset", "fast"]) == 0
    result = pydicom.dcmread(out / "IM0001.dcm")
    assert result.pixel_array.std() < 0.5 * pixels.std() and result.PatientName == "Somebody^Known"
    assert "--sigma 20 --preset fast; noise: Gaussian, sigma 20; method: fast" in result.DerivationDescription
