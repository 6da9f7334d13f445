import pickle
import struct
import zipfile
import zlib

import numpy
import pytest
from PIL import Image

from seal.tasks.segmentation.images import read_array, read_image, read_masked_images, read_masks
from tests.one_sentence import message_of
from tests.segmentation import arrays, write_folder, write_npz


def wrong(path, message, read=read_masked_images):
    told = message_of(read, str(path))
    assert message in told and told.startswith(str(path)), told


def mask_of(path):
    return read_masks([str(path)])[0]


def save(array, path, mode=None):
    Image.fromarray(array, mode).save(path)
    return str(path)


def test_an_archive(tmp_path):
    data, path = read_masked_images(write_npz(tmp_path)), tmp_path / "data.npz"
    assert numpy.array_equal(data.images, arrays()["images"]) and numpy.array_equal(data.masks, arrays()["masks"])
    assert data.source[2] == f"{path}:2"
    as_booleans = read_masked_images(write_npz(tmp_path, masks=arrays()["masks"].astype(bool)))
    assert as_booleans.masks.dtype == numpy.uint8 and numpy.array_equal(as_booleans.masks, data.masks)


def test_a_folder(tmp_path):
    data = read_masked_images(write_folder(tmp_path / "d"))
    assert numpy.array_equal(data.images, arrays(3)["images"]) and numpy.array_equal(data.masks, arrays(3)["masks"])
    assert data.source[1] == str(tmp_path / "d" / "images" / "1.png")
    (tmp_path / "d" / "images" / "._0.png").write_text("as macOS writes beside a file")
    assert len(read_masked_images(str(tmp_path / "d")).images) == 3


def test_another_size(tmp_path):
    for path in (write_npz(tmp_path), write_folder(tmp_path / "d")):
        data = read_masked_images(path, (5, 6))
        assert data.images.shape[1:] == (5, 6, 3) and data.masks.shape[1:] == (5, 6)
        assert set(numpy.unique(data.masks)) <= {0, 1}
    # The two ways give the same.
    same = read_masked_images(write_npz(tmp_path, **arrays(3)), (5, 6))
    assert numpy.array_equal(data.images, same.images) and numpy.array_equal(data.masks, same.masks)


def test_images_are_resized_smoothly_and_masks_to_the_nearest_pixel(tmp_path):
    row = numpy.array([[[1, 0, 1]]], dtype=numpy.uint8)
    path = write_npz(tmp_path, images=(90 * row)[..., None].repeat(3, axis=3), masks=row)
    data = read_masked_images(path, (1, 1))
    # The weights of the three pixels are as 2 to 3 to 2: 4/7 of 90.
    assert data.images.ravel().tolist() == [51, 51, 51] and data.masks.tolist() == [[[0]]]


@pytest.mark.parametrize(
    "more, message",
    [
        ({"images": numpy.zeros((5, 10, 12), dtype=numpy.uint8)}, "(N, H, W, 3)"),
        ({"images": numpy.zeros((5, 10, 12, 3))}, "float64"),
        ({"images": numpy.zeros((5, 10, 12, 4), dtype=numpy.uint8)}, "(5, 10, 12, 4)"),
        ({"masks": numpy.zeros((4, 10, 12), dtype=numpy.uint8)}, "(5, 10, 12)"),
        ({"masks": numpy.zeros((5, 10, 12))}, "float64"),
        ({"images": numpy.array([{}])}, "objects"),
        ({"images": numpy.zeros((5, 0, 12, 3), dtype=numpy.uint8)}, "(5, 0, 12, 3)"),
        (
            {"images": numpy.zeros((0, 2, 2, 3), dtype=numpy.uint8), "masks": numpy.zeros((0, 2, 2), dtype=int)},
            "no images",
        ),
    ],
)
def test_archives_that_are_wrong(tmp_path, more, message):
    wrong(write_npz(tmp_path, **more), message)


def test_a_mask_in_an_archive_that_is_none(tmp_path):
    masks = arrays()["masks"]
    masks[3, 2, 1] = 7
    wrong(write_npz(tmp_path, masks=masks), "data.npz:3: the mask has the value 7 at row 2, column 1")


def test_masks_of_two_other_values_in_an_archive(tmp_path, caplog):
    masks = arrays()["masks"].astype(numpy.uint16)
    path = write_npz(tmp_path, masks=masks * 500 + 7)
    assert numpy.array_equal(read_masked_images(path).masks, masks)
    (record,) = caplog.records
    assert path in record.getMessage() and "507" in record.getMessage()


def test_files_that_are_no_archive(tmp_path, write):
    wrong(tmp_path / "none.npz", "")
    numpy.save(tmp_path / "one.npy", numpy.zeros(3))
    wrong(tmp_path / "one.npy", ".npy")
    numpy.savez(tmp_path / "other.npz", images=arrays()["images"])
    wrong(tmp_path / "other.npz", "'masks'")
    whole = (tmp_path / "other.npz").read_bytes()
    # Not said to be a pickle.
    for content in (b"hello" * 99, pickle.dumps({"images": 1}), b"", whole[: len(whole) // 2]):
        wrong(write("data.npz", content), ".npz")


def member(text, shape="(2, 2)"):
    """An archive's `images.npy` of eight bits a number, whatever its numbers."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + text


def archive(path, content, method=None, encrypted=False):
    """A zip of `content`, which perhaps claims another method of compression, or to be encrypted."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("images.npy", content)
    packed = bytearray(path.read_bytes())
    # The two places of the flags and of the method: of the member itself and of the directory at the end.
    for flags in (6, packed.index(b"PK\x01\x02") + 8):
        packed[flags] |= encrypted
        packed[flags + 2] = packed[flags + 2] if method is None else method
    path.write_bytes(packed)
    return str(path)


def test_an_archive_of_plain_zip(tmp_path):
    found = read_array(archive(tmp_path / "whole.npz", member(b"abcd")), "images")
    assert found.tolist() == [[97, 98], [99, 100]]


@pytest.mark.parametrize(
    "content, settings, reason",
    [
        (member(b"abcd"), {"encrypted": True}, "is encrypted"),
        (member(b"abcd"), {"method": 97}, "not supported"),
        (b"hello", {}, "its 'images' is not an array"),
        (member(b"abc"), {}, "expected 4 bytes got 3"),
        (member(b"abcd", "(10000000, 10000000, 30)"), {}, "Unable to allocate"),
        (member(b"abcd", "(1" + "0" * 20 + ", 3)"), {}, "too large"),
        (member(b"abcd", "(2, 2"), {}, ""),
    ],
)
def test_archives_that_cannot_be_unpacked(tmp_path, content, settings, reason):
    path = archive(tmp_path / "data.npz", content, **settings)
    wrong(path, reason, lambda path: read_array(path, "images"))


def test_an_archive_that_unpacks_to_too_much(tmp_path, monkeypatch):
    path = str(tmp_path / "data.npz")
    numpy.savez_compressed(path, images=numpy.zeros((2**21,), dtype=numpy.uint8))
    monkeypatch.setenv("SEAL_MAX_UNPACKED", "1")
    wrong(path, "SEAL_MAX_UNPACKED", lambda path: read_array(path, "images"))
    monkeypatch.setenv("SEAL_MAX_UNPACKED", "3")
    assert len(read_array(path, "images")) == 2**21


def test_folders_that_are_wrong(tmp_path):
    (tmp_path / "empty").mkdir()
    wrong(tmp_path / "empty", "'images' and 'masks'")
    folder = tmp_path / "d"
    write_folder(folder)
    (folder / "masks" / "1.png").unlink()
    wrong(folder, f"images/1.png: there is no mask '1' in {folder / 'masks'}")
    (folder / "images" / "1.png").unlink()
    save(arrays()["masks"][0], folder / "masks" / "7.png")
    wrong(folder, f"masks/7.png: there is no image '7' in {folder / 'images'}")
    (folder / "masks" / "7.png").unlink()
    save(arrays()["images"][0][:8], folder / "images" / "2.png")
    wrong(folder, "masks/2.png: the mask is of 12 x 10 pixels")
    save(arrays()["masks"][0][:8], folder / "masks" / "2.png")
    wrong(folder, "images/2.png: an image of 12 x 8 pixels after others of 12 x 10; set dataset_reader.resize")
    assert read_masked_images(str(folder), (9, 9)).masks.shape == (2, 9, 9)
    save(arrays()["images"][0], folder / "images" / "0.jpg")
    wrong(folder, "images/0.png: 0.jpg has the same name but for its ending")


def test_kinds_of_images(tmp_path):
    pixels = arrays()["images"][0]
    grey = save(pixels[..., 0], tmp_path / "grey.png")
    assert numpy.asarray(read_image(grey)).shape == pixels.shape
    alpha = save(numpy.dstack([pixels, pixels[..., 0]]), tmp_path / "alpha.png")
    deep = save(pixels[..., 0].astype(numpy.uint16) * 256, tmp_path / "deep.png")
    for path, kind in ((alpha, "RGBA"), (deep, "I;16")):
        wrong(path, f"'{kind}'", read_image)


def png(rows, depth, colour):
    """A PNG of packed rows, of any depth and kind of colours, which Pillow cannot write."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    width = 8 * rows[0].nbytes // depth // (3 if colour == 2 else 1)
    head = struct.pack(">IIBBBBB", width, len(rows), depth, colour, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def tiff(pixels, planes=False):
    """An uncompressed TIFF of 16 bits a colour, perhaps with a plane for each."""
    height, width, _ = pixels.shape
    size = 2 * height * width
    entries = [(256, 4, width), (257, 4, height), (258, 3, 8), (262, 3, 2), (277, 3, 3), (278, 4, height)]
    # The three depths are at 8, the places and sizes of planes at 16 and 28, the pixels at 40.
    entries += [(273, 4, 16), (279, 4, 28), (284, 3, 2)] if planes else [(273, 4, 40), (279, 4, 3 * size)]
    counts = {258: 3, **({273: 3, 279: 3} if planes else {})}
    after = struct.pack("<3H2x6I", 16, 16, 16, *(40 + size * plane for plane in range(3)), size, size, size)
    content = (pixels.transpose(2, 0, 1) if planes else pixels).astype("<u2").tobytes()
    directory = b"".join(struct.pack("<HHII", tag, kind, counts.get(tag, 1), at) for tag, kind, at in sorted(entries))
    end = struct.pack("<H", len(entries)) + directory + struct.pack("<I", 0)
    return struct.pack("<2sHI", b"II", 42, 40 + len(content)) + after + content + end


def test_sixteen_bits_a_colour(tmp_path):
    """Pillow opens them as RGB, and leaves out the lower eight bits, which is all that a dim image has."""
    pixels = arrays()["images"][0].astype(">u2")
    height, width, _ = pixels.shape
    size = f"{width} {height}"
    files = {
        "a.png": png(pixels.reshape(height, -1), 16, 2),
        "a.ppm": f"P6 {size} 65535\n".encode() + pixels.tobytes(),
        "b.ppm": f"P3 {size} 1023\n{' '.join(map(str, pixels.ravel()))}\n".encode(),
        "a.tiff": tiff(pixels),
        "b.tiff": tiff(pixels, planes=True),
    }
    for name, content in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert Image.open(path).mode == "RGB" and Image.open(path).size == (width, height)
        wrong(path, "'RGB;16'", read_image)
    shallow = {"c.png": png(pixels.astype("u1").reshape(height, -1), 8, 2)}
    shallow["c.ppm"] = f"P6 {size} 255\n".encode() + pixels.astype("u1").tobytes()
    shallow["d.ppm"] = f"P3 {size} 255\n{' '.join(map(str, pixels.ravel()))}\n".encode()
    for name, content in shallow.items():
        (tmp_path / name).write_bytes(content)
        assert numpy.array_equal(numpy.asarray(read_image(str(tmp_path / name))), pixels)
    for kind in (None, "tiff_lzw", "jpeg"):
        Image.fromarray(pixels.astype("u1")).save(tmp_path / "c.tiff", compression=kind)
        assert read_image(str(tmp_path / "c.tiff")).size == (width, height)


def test_transparency_without_an_alpha_channel(tmp_path):
    image, exif = Image.fromarray(arrays()["images"][0]), Image.Exif()
    exif[0x0112] = 6
    image.save(tmp_path / "colour.png", transparency=(1, 2, 3), exif=exif)
    image.quantize(8).save(tmp_path / "palette.png", transparency=0)
    image.convert("L").save(tmp_path / "grey.png", transparency=7)
    for name in ("colour", "palette", "grey"):
        wrong(tmp_path / f"{name}.png", "transparency", read_image)
    # Of a mask the numbers are meant.
    mask = Image.fromarray(arrays()["masks"][1])
    mask.save(tmp_path / "mask.png", transparency=0)
    assert numpy.array_equal(mask_of(tmp_path / "mask.png"), arrays()["masks"][1])


@pytest.mark.parametrize("ending", ["gif", "tiff", "png"])
def test_several_frames(tmp_path, ending):
    first, second = (Image.fromarray(mask) for mask in arrays()["masks"][:2])
    path = str(tmp_path / f"a.{ending}")
    first.save(path, save_all=True, append_images=[second])
    for read in (read_image, mask_of):
        wrong(path, "frames", read)
    first.save(path)
    assert read_image(path).size == first.size


def test_previews_behind_a_photograph_are_no_frames(tmp_path):
    photo = Image.fromarray(arrays()["images"][0])
    photo.save(tmp_path / "a.jpg", format="MPO", save_all=True, append_images=[photo.resize((4, 4))])
    assert Image.open(tmp_path / "a.jpg").n_frames == 2 and read_image(str(tmp_path / "a.jpg")).size == photo.size


def test_photographs_lie_as_they_are_looked_at(tmp_path):
    image = Image.fromarray(arrays()["images"][0])
    # "Rotate by 90 degrees to see it": what a phone writes that is held upright.
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(tmp_path / "photo.png", exif=exif)
    upright = numpy.rot90(numpy.asarray(image), k=-1)
    assert numpy.array_equal(numpy.asarray(read_image(str(tmp_path / "photo.png"))), upright)


def test_images_that_cannot_be_read(tmp_path):
    (tmp_path / "text.png").write_text("hello")
    whole = tmp_path / "whole.png"
    save(numpy.random.default_rng(0).integers(0, 255, (50, 50, 3)).astype(numpy.uint8), whole)
    (tmp_path / "torn.png").write_bytes(whole.read_bytes()[:3000])
    for name in ("text.png", "torn.png", "none.png"):
        wrong(tmp_path / name, "read", read_image)


def test_kinds_of_masks(tmp_path):
    mask = arrays()["masks"][1]
    for name, kind in (("ones", mask), ("full", mask * 255), ("bits", mask.astype(bool))):
        assert numpy.array_equal(mask_of(save(kind, tmp_path / f"{name}.png")), mask)
    palette = Image.fromarray(mask, "P")
    palette.putpalette([10, 20, 30, 200, 100, 0])
    palette.save(tmp_path / "palette.png")
    assert numpy.array_equal(mask_of(tmp_path / "palette.png"), mask)
    # As a conversion to two colours may write it: of greys the colours count.
    inverted = Image.fromarray(1 - mask, "P")
    inverted.putpalette([255, 255, 255, 0, 0, 0])
    inverted.save(tmp_path / "inverted.png")
    assert numpy.array_equal(mask_of(tmp_path / "inverted.png"), mask)
    assert not mask_of(save(mask * 0, tmp_path / "none.png")).any()
    soft = (mask * 255).copy()
    soft[4, 5] = 128
    wrong(save(soft, tmp_path / "soft.png"), "128", mask_of)
    wrong(save(arrays()["images"][0], tmp_path / "colour.png"), "#", mask_of)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_masks_of_few_bits_a_pixel(tmp_path, depth):
    mask, white = arrays(height=5, width=8)["masks"][1], 2**depth - 1
    assert mask.any() and not mask.all()
    path = tmp_path / "mask.png"

    def write(values):
        bits = (values[..., None] >> numpy.arange(depth)[::-1]) & 1
        path.write_bytes(png(numpy.packbits(bits.reshape(len(values), -1), axis=1), depth, 0))
        (tmp_path / "mask.pgm").write_bytes(f"P5 8 5 {white}\n".encode() + values.tobytes())

    for foreground in (1, white):
        write(mask * foreground)
        for name in ("mask.png", "mask.pgm"):
            assert numpy.array_equal(mask_of(tmp_path / name), mask), (name, foreground)


@pytest.mark.parametrize("kind", ["gif", "png"])
@pytest.mark.parametrize("colour", [(255, 0, 0), (0, 0, 255), (120, 200, 40)])
def test_a_palette_of_black_and_a_colour(tmp_path, kind, colour):
    """Pillow may give the object the index 0."""
    for row, mask in enumerate(arrays(5)["masks"]):
        path = tmp_path / f"{row}.{kind}"
        Image.fromarray(mask[..., None] * numpy.array(colour, dtype=numpy.uint8)).quantize(2).save(path)
        assert numpy.array_equal(mask_of(path), mask)


def coloured(zero, one, mode):
    """Of a mask, the image with these two colours."""
    return lambda mask: Image.fromarray(numpy.where(mask[..., None], one, zero).astype(numpy.uint8), mode)


def of_numbers(zero, one, kind):
    return lambda mask: Image.fromarray(numpy.where(mask, one, zero).astype(kind))


@pytest.mark.parametrize(
    "image, told",
    [
        (coloured((0, 0, 0), (255, 255, 255), "RGB"), ()),
        (coloured((0, 0, 0), (200, 0, 0), "RGB"), ("#c80000", "0")),
        (coloured((0, 0, 255), (0, 255, 0), "RGB"), ("#00ff00", "#0000ff")),
        (coloured((0, 0, 0, 255), (255, 255, 255, 255), "RGBA"), ()),
        # What nobody sees has no colour, and what everybody sees may be black.
        (coloured((90, 9, 9, 0), (0, 0, 0, 255), "RGBA"), ("0", "transparent")),
        (of_numbers(0, 65535, numpy.uint16), ("65535", "0")),
        (of_numbers(0, 1, numpy.uint16), ("1", "0")),
        (of_numbers(0, 128, numpy.uint8), ("128", "0")),
        (of_numbers(1, 2, numpy.uint8), ("2", "1")),
    ],
)
def test_masks_of_two_values_of_any_kind(tmp_path, caplog, image, told):
    folder = tmp_path / "d"
    write_folder(folder)
    masks = read_masked_images(str(folder)).masks.copy()
    # One that has the object everywhere, and one that has it nowhere: the others say what their values are.
    masks[0], masks[1] = 1, 0
    for row, mask in enumerate(masks):
        image(mask).save(folder / "masks" / f"{row}.png")
    assert numpy.array_equal(read_masked_images(str(folder)).masks, masks)
    assert [all(value in record.getMessage() for value in told) for record in caplog.records] == [True] * bool(told)


def test_masks_of_three_values_in_several_files(tmp_path):
    folder = tmp_path / "d"
    write_folder(folder)
    for row, one in enumerate((128, 128, 64)):
        of_numbers(0, one, numpy.uint8)(arrays(3)["masks"][1]).save(folder / "masks" / f"{row}.png")
    wrong(folder, "2.png: the mask has the value 64")
    photo = Image.fromarray(arrays()["images"][0])
    photo.save(folder / "masks" / "0.png")
    wrong(folder, "0.png: the mask has the value")
    for row in range(3):
        coloured((0, 0, 0), (255, 255, 255), "RGB")(arrays(3)["masks"][row] * 0).save(folder / "masks" / f"{row}.png")
    assert not read_masked_images(str(folder)).masks.any()
