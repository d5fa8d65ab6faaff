"""What photographs, TIFF and FITS say beside their pixels arrives in the next file of their kind."""

from __future__ import annotations

from pathlib import Path

import format_cases as cases
import numpy as np
import pytest
from format_cases import changed
from PIL import Image

from epitomes.formats import planes, read, write

# Photographs


@pytest.mark.parametrize("suffix", [".png", ".jpg"])
def test_exif_and_profile_pass_and_orientation_is_applied_once(tmp_path: Path, suffix: str) -> None:
    pixels = np.zeros((8, 16), np.uint8)
    pixels[:, 8:] = 200
    exif = Image.Exif()
    exif[0x0112] = 6  # the stored right side is the shown bottom
    exif[0x010F] = "A camera"
    Image.fromarray(pixels).save(tmp_path / f"a{suffix}", exif=exif, icc_profile=b"profile" * 20, dpi=(300, 300))
    back = read(tmp_path / f"a{suffix}")
    assert back.pixels.shape == (16, 8) and "upright" in back.notes[0]
    assert back.pixels[:6].max() < 20 and back.pixels[10:].min() > 180
    for goal in ("b.png", "b.jpg"):
        assert write(tmp_path / goal, back, overwrite=True) == ()
        with Image.open(tmp_path / goal) as picture:
            assert picture.size == (8, 16)
            assert picture.getexif().get(0x0112, 1) == 1 and picture.getexif()[0x010F] == "A camera"
            assert picture.info["icc_profile"] == b"profile" * 20
            assert picture.info["dpi"] == pytest.approx((300, 300), abs=0.1)
        again = read(tmp_path / goal)
        assert again.notes == () and again.pixels.shape == (16, 8)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_orientation_is_what_pillow_shows(tmp_path: Path, orientation: int, rng: np.random.Generator) -> None:
    from PIL import ImageOps

    pixels = cases.some(rng, "uint8", (5, 4, 3))
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(pixels).save(tmp_path / "a.png", exif=exif)
    with Image.open(tmp_path / "a.png") as picture:
        np.testing.assert_array_equal(read(tmp_path / "a.png").pixels, np.asarray(ImageOps.exif_transpose(picture)))


def test_chunks_of_a_sixteen_bit_png_pass(tmp_path: Path) -> None:
    more = cases.png_chunk(b"gAMA", (45455).to_bytes(4, "big")) + cases.png_chunk(b"tEXt", b"Author\0me")
    more += cases.png_chunk(b"pHYs", (5000).to_bytes(4, "big") * 2 + b"\1") + cases.png_chunk(b"tIME", bytes(7))
    body = 4 * (b"\0" + bytes(24))
    (tmp_path / "a.png").write_bytes(cases.raw_png(16, 2, body, more=more))
    write(tmp_path / "b.png", read(tmp_path / "a.png"))
    with Image.open(tmp_path / "b.png") as picture:
        assert picture.info["gamma"] == pytest.approx(0.45455) and picture.info["Author"] == "me"
        assert picture.info["dpi"] == pytest.approx((127, 127))
    assert write(tmp_path / "c.npy", read(tmp_path / "b.png")) == ("NPY does not keep its text",)


# TIFF


def test_tags_description_and_resolution_of_tiff_pass(tmp_path: Path, rng: np.random.Generator) -> None:
    tifffile = pytest.importorskip("tifffile")
    geo = [
        (33550, 12, 3, (30.0, 30.0, 0.0)),
        (33922, 12, 6, (0.0, 0.0, 0.0, 5e5, 4e6, 0.0)),
        (34735, 3, 8, (1, 1, 0, 1, 1024, 0, 1, 1)),
        (42113, 2, 0, "0"),
        (315, 2, 0, "me"),
    ]
    pixels = cases.some(rng, "uint16", (9, 7))
    tifffile.imwrite(
        tmp_path / "a.tif",
        pixels,
        extratags=geo,
        description="a field",
        metadata=None,
        resolution=(7000, 7000),
        resolutionunit="CENTIMETER",
        compression="zlib",
        photometric="miniswhite",
    )
    picture = read(tmp_path / "a.tif")
    assert dict(picture.spacing) == pytest.approx({"X": 1 / 7000, "Y": 1 / 7000}) and picture.units["X"] == "cm"
    assert write(tmp_path / "b.tif", changed(picture)) == ()
    with tifffile.TiffFile(tmp_path / "b.tif") as tiff:
        tags = tiff.pages[0].tags
        for code, _, _, value in geo:
            assert tags[code].value == value
        assert tags[270].value == "a field" and tags[282].value == (7000, 1) and int(tags[296].value) == 3
        assert int(tags[259].value) == 8 and int(tags[262].value) == 0  # compressed still, white is zero still
    assert dict(read(tmp_path / "b.tif").spacing) == dict(picture.spacing)


def test_settings_of_an_electron_microscope_pass(tmp_path: Path, rng: np.random.Generator) -> None:
    tifffile = pytest.importorskip("tifffile")
    settings = b"[User]\r\nDate=10/27/2016\r\n[Scan]\r\nPixelWidth=7.7e-009\r\nPixelHeight=7.8e-009\r\n\0"
    pixels = cases.some(rng, "uint8", (9, 7))
    tifffile.imwrite(tmp_path / "a.tif", pixels, metadata=None, extratags=[(34682, 2, len(settings), settings)])
    picture = read(tmp_path / "a.tif")
    assert dict(picture.spacing) == pytest.approx({"X": 7.7e-9, "Y": 7.8e-9}) and set(picture.units.values()) == {"m"}
    assert write(tmp_path / "b.tif", changed(picture)) == ()
    for name in "ab":
        with tifffile.TiffFile(tmp_path / f"{name}.tif") as tiff:
            assert tiff.fei_metadata == {
                "User": {"Date": "10/27/2016"},
                "Scan": {"PixelWidth": 7.7e-9, "PixelHeight": 7.8e-9},
            }
    assert dict(read(tmp_path / "b.tif").spacing) == dict(picture.spacing)


OME = """<?xml version="1.0" encoding="UTF-8"?>
<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="urn:uuid:1"><Instrument ID="Instrument:0">
<Objective ID="Objective:0" NominalMagnification="60.0"/></Instrument>
<Image ID="Image:0" Name="cells µ"><Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint16" SizeX="7" SizeY="9"
SizeC="2" SizeZ="3" SizeT="1" PhysicalSizeX="0.25" PhysicalSizeXUnit="µm" PhysicalSizeY="250" PhysicalSizeYUnit="nm"
PhysicalSizeZ="1.5" BigEndian="true"><Channel ID="Channel:0:0" Name="DAPI" SamplesPerPixel="1"/>
<Channel ID="Channel:0:1" Name="GFP" SamplesPerPixel="1"/><TiffData IFD="0" PlaneCount="6"/>
<Plane TheZ="0" TheC="0" TheT="0" ExposureTime="0.1"/></Pixels></Image></OME>"""


def test_ome_xml_passes(tmp_path: Path, rng: np.random.Generator) -> None:
    tifffile = pytest.importorskip("tifffile")
    pixels = cases.some(rng, "uint16", (2, 3, 9, 7))
    tifffile.imwrite(
        tmp_path / "a.ome.tif",
        pixels.reshape(6, 9, 7),
        description=OME.encode(),
        metadata=None,
        photometric="minisblack",
    )
    picture = read(tmp_path / "a.ome.tif")
    assert picture.axes == "CZYX"
    assert dict(picture.spacing) == {"X": 0.25, "Y": 250.0, "Z": 1.5}
    assert dict(picture.units) == {"X": "um", "Y": "nm", "Z": "um"}
    for goal in ("b.ome.tif", "b.tif"):  # a plain suffix does not make it forget
        assert write(tmp_path / goal, changed(picture)) == ()
        back = read(tmp_path / goal)
        assert (back.axes, back.spacing, back.units) == (picture.axes, picture.spacing, picture.units)
        np.testing.assert_array_equal(back.pixels, changed(picture).pixels)
        with tifffile.TiffFile(tmp_path / goal) as tiff:
            xml = tiff.ome_metadata
        for kept in ("NominalMagnification", 'Name="cells µ"', 'Name="DAPI"', "ExposureTime", 'DimensionOrder="XYZCT"'):
            assert kept in xml
        assert "UUID" not in xml and xml.count("<TiffData") == 1
    assert write(tmp_path / "c.npz", picture) == ("NPZ does not keep OME-XML",)


def test_imagej_stack_stays_one(tmp_path: Path, rng: np.random.Generator) -> None:
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(
        tmp_path / "a.tif",
        cases.some(rng, "uint16", (2, 3, 9, 7)),
        imagej=True,
        resolution=(1 / 0.325, 1 / 0.325),
        metadata={
            "axes": "TZYX",
            "spacing": 1.5,
            "unit": "um",
            "finterval": 0.25,
            "mode": "composite",
            "Info": "hello",
            "Labels": ["x"] * 6,
        },
    )
    picture = read(tmp_path / "a.tif")
    assert picture.axes == "TZYX"
    assert dict(picture.spacing) == pytest.approx({"T": 0.25, "Z": 1.5, "Y": 0.325, "X": 0.325})
    assert dict(picture.units) == {"T": "s", "Z": "um", "Y": "um", "X": "um"}
    write(tmp_path / "b.tif", changed(picture))
    with tifffile.TiffFile(tmp_path / "b.tif") as tiff:
        assert tiff.is_imagej and tiff.series[0].axes == "TZYX"
        found = tiff.imagej_metadata
    assert (found["Info"], found["Labels"], found["spacing"], found["finterval"]) == ("hello", ["x"] * 6, 1.5, 0.25)
    assert found["mode"] == "composite"
    assert dict(read(tmp_path / "b.tif").spacing) == pytest.approx(dict(picture.spacing))


def test_pages_of_unknown_meaning_are_a_stack(tmp_path: Path) -> None:
    page = Image.new("L", (4, 5))
    page.save(tmp_path / "a.tif", save_all=True, append_images=[page, page])
    picture = read(tmp_path / "a.tif")
    assert (picture.axes, picture.pixels.shape) == ("ZYX", (3, 5, 4)) and len(list(planes(picture))) == 3
    assert read(tmp_path / "a.tif", axes="tyx").axes == "TYX"


# FITS


@pytest.mark.slow
def test_wcs_passes(tmp_path: Path, rng: np.random.Generator) -> None:
    fits = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    from astropy.wcs import WCS

    header = WCS(naxis=2).to_header()
    header.update(
        {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 250.4, "CRVAL2": 36.46, "CRPIX1": 4.0, "CRPIX2": 5.0}
    )
    header["CDELT1"], header["CDELT2"] = -0.0003, 0.0003
    header["OBJECT"] = "M 13"
    header["HISTORY"] = "dark subtracted"
    header["COMMENT"] = "clouds"
    path = tmp_path / "a.fits"
    fits.PrimaryHDU(cases.some(rng, "int16", (9, 7)), header).writeto(path)
    picture = read(path)
    assert dict(picture.spacing) == pytest.approx({"X": 0.0003, "Y": 0.0003}) and picture.units["Y"] == "deg"
    for goal in ("b.fits", "c.fits.gz"):
        assert write(tmp_path / goal, changed(picture)) == ()
        with fits.open(tmp_path / goal) as parts:
            new = parts[0].header
            np.testing.assert_array_equal(parts[0].data, changed(picture).pixels)
        for name in fits.getheader(path):
            if name not in ("HISTORY", "COMMENT", ""):
                assert new[name] == fits.getheader(path)[name], name
        assert "dark subtracted" in str(new["HISTORY"]) and "epitomes" in str(new["HISTORY"]) and "clouds" in str(new)
        world = WCS(new).all_pix2world([[2.5, 3.5]], 0)
        np.testing.assert_allclose(world, WCS(fits.getheader(path)).all_pix2world([[2.5, 3.5]], 0), rtol=1e-12)
    write(tmp_path / "d.fits", read(tmp_path / "b.fits"))
    assert str(fits.getheader(tmp_path / "d.fits")["HISTORY"]).count("epitomes") == 1


@pytest.mark.slow
def test_scaled_fits_stays_scaled(tmp_path: Path) -> None:
    fits = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    stored = np.arange(12, dtype=np.int16).reshape(3, 4)
    unit = fits.PrimaryHDU(stored)
    unit.header["BSCALE"], unit.header["BZERO"] = 0.5, 10.0
    unit.writeto(tmp_path / "a.fits")
    picture = read(tmp_path / "a.fits")
    assert picture.pixels.dtype == np.int16 and "0.5" in picture.notes[0]
    np.testing.assert_array_equal(picture.pixels, stored)
    write(tmp_path / "b.fits", picture)
    np.testing.assert_array_equal(fits.getdata(tmp_path / "b.fits"), 0.5 * stored + 10)


@pytest.mark.slow
def test_all_other_parts_of_a_fits_file_stay_to_the_bit(tmp_path: Path, rng: np.random.Generator) -> None:
    fits = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    first = fits.PrimaryHDU()
    first.header["TELESCOP"] = "one metre"
    science = fits.ImageHDU(cases.some(rng, "float32", (9, 7)), name="SCI")
    table = fits.BinTableHDU.from_columns([fits.Column("flux", "E", array=np.arange(5.0))], name="STARS")
    error = fits.CompImageHDU(cases.some(rng, "int16", (9, 7)), name="ERR")
    fits.HDUList([first, table, science, error]).writeto(tmp_path / "a.fits")
    whole = (tmp_path / "a.fits").read_bytes()
    picture = read(tmp_path / "a.fits")
    assert "it holds 2 images, of which 2 SCI (9 x 7 float32) is read" in picture.notes
    lines = ["epitomes denoise a.fits", "noise: Gaussian, sigma 3 ± 1"]
    write(tmp_path / "b.fits", picture.replace(picture.pixels + 1, history=lines))
    with fits.open(tmp_path / "a.fits") as old, fits.open(tmp_path / "b.fits") as parts:
        assert [part.name for part in parts] == ["PRIMARY", "STARS", "SCI", "ERR"]
        np.testing.assert_array_equal(parts[2].data, picture.pixels + 1)
        assert list(parts[2].header["HISTORY"]) == ["epitomes denoise a.fits", "noise: Gaussian, sigma 3 ? 1"]
        start, end = (old[2].fileinfo()["hdrLoc"], old[3].fileinfo()["hdrLoc"])
        new = (tmp_path / "b.fits").read_bytes()
        assert new[:start] == whole[:start] and new.endswith(whole[end:]) and len(new) == len(whole)
    for name in ("b", "c"):  # an image that was chosen replaces itself alone
        chosen = read(tmp_path / f"{'a' if name == 'b' else 'b'}.fits", series="err")
        write(tmp_path / f"{name}.fits", chosen, overwrite=True)
    with fits.open(tmp_path / "c.fits") as parts:
        assert [part.name for part in parts] == ["PRIMARY", "STARS", "SCI", "ERR"]
        np.testing.assert_array_equal(parts[3].data, error.data)


@pytest.mark.parametrize("kind", ["RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1"])
@pytest.mark.parametrize("dtype", ["int16", "uint16", "uint8", "int32", "float32"])
def test_compressed_images_of_integers_stay_compressed(
    tmp_path: Path, kind: str, dtype: str, rng: np.random.Generator
) -> None:
    fits = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    header = fits.Header({"OBJECT": "M 13", "EXTNAME": "SCI"})
    fits.CompImageHDU(rng.integers(0, 200, (48, 40)).astype(dtype), header, compression_type=kind).writeto(
        tmp_path / "a.fits"
    )
    picture = read(tmp_path / "a.fits")
    result = changed(picture)
    write(tmp_path / "b.fits", result)
    back = read(tmp_path / "b.fits")
    np.testing.assert_array_equal(back.pixels, result.pixels)
    assert back.pixels.dtype == dtype
    with fits.open(tmp_path / "b.fits") as parts:
        assert isinstance(parts[1], fits.CompImageHDU) == (dtype != "float32")
        assert parts[1].name == "SCI" and parts[1].header["OBJECT"] == "M 13"
    if dtype != "float32" and kind != "HCOMPRESS_1":
        assert (tmp_path / "b.fits").stat().st_size <= (tmp_path / "a.fits").stat().st_size + 2880


def test_integers_that_mean_missing_are_counted(tmp_path: Path) -> None:
    fits = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    pixels = np.arange(12, dtype=np.int16).reshape(3, 4)
    part = fits.PrimaryHDU(np.where(pixels < 5, -32768, pixels).astype(np.int16))
    part.header["BLANK"] = -32768
    part.writeto(tmp_path / "a.fits")
    assert read(tmp_path / "a.fits").notes == ("5 of its values are -32768, which stands for a missing value (BLANK)",)


@pytest.mark.filterwarnings("ignore::astropy.io.fits.verify.VerifyWarning")
def test_images_after_a_primary_image_stay(tmp_path: Path, rng: np.random.Generator) -> None:
    fits = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    parts = [fits.PrimaryHDU(cases.some(rng, "int16", (9, 7))), fits.ImageHDU(np.ones((3, 3)), name="DARK")]
    fits.HDUList(parts).writeto(tmp_path / "a.fits", checksum=True)
    with (tmp_path / "a.fits").open("ab") as file:
        file.write(bytes(2880) + b"scribbles")  # belongs to no part
    write(tmp_path / "b.fits", changed(read(tmp_path / "a.fits")))
    with fits.open(tmp_path / "b.fits", checksum=True) as back:
        assert [part.name for part in back] == ["PRIMARY", "DARK"] and back[0].header["EXTEND"] is True
        np.testing.assert_array_equal(back[0].data, parts[0].data[:, ::-1])
        np.testing.assert_array_equal(back[1].data, parts[1].data)
    assert (tmp_path / "b.fits").read_bytes().endswith(b"scribbles")
    np.testing.assert_array_equal(read(tmp_path / "b.fits", series=1).pixels, parts[1].data)


def test_axes_of_a_cube_come_from_its_header(tmp_path: Path) -> None:
    fits = pytest.importorskip("astropy.io.fits", reason="astropy is not installed")
    for kind, letter in (("FREQ", "C"), ("TIME", "T"), ("", "Z")):
        unit = fits.PrimaryHDU(np.zeros((3, 5, 4), np.float32))
        unit.header["CTYPE3"] = kind
        unit.writeto(tmp_path / "a.fits", overwrite=True)
        assert read(tmp_path / "a.fits").axes == f"{letter}YX"


@pytest.mark.parametrize("kind", ["", "_rice", "_gzip", "_hcomp", "_plio"])
def test_a_real_photograph_of_the_sky(kind: str, tmp_path: Path) -> None:
    astropy = pytest.importorskip("astropy", reason="astropy is not installed")
    folder = Path(astropy.__file__).parent / "io" / "fits" / "hdu" / "compressed" / "tests" / "data"
    if not (folder / f"m13{kind}.fits").is_file():
        pytest.skip("this astropy comes without its test pictures")
    picture = read(folder / f"m13{kind}.fits")
    assert (picture.pixels.shape, picture.pixels.dtype, picture.axes) == ((300, 300), np.int16, "YX")
    assert picture.units["X"] == "deg" and 100 < picture.pixels.mean() < 1000
    write(tmp_path / "a.fits", picture)
    np.testing.assert_array_equal(read(tmp_path / "a.fits").pixels, picture.pixels)
