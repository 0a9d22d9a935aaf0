"""Small files of PNG: few colours, well compressed."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from playwright.async_api import Page

__all__ = ["parts_of"]

COLOURS: Final = (256, 128, 64, 32, 16)
"""How many colours are tried, until the picture is small."""
PIXELS: Final = """
async (picture) => {
  const bytes = Uint8Array.from(atob(picture), (char) => char.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
  const parts = [];
  for (let at = 0; at < data.length; at += 8192) parts.push(String.fromCharCode(...data.subarray(at, at + 8192)));
  return { width: bitmap.width, height: bitmap.height, pixels: btoa(parts.join("")) };
}
"""
"""A browser decodes the picture, and gives four bytes for each pixel."""


async def parts_of(page: Page, picture: bytes, most: int) -> list[tuple[bytes, bytes]]:
    """The same picture as (kind, content) of each part of a PNG of at most `most` bytes, if 16 colours allow that.

    page: an empty one.
    """
    found = await page.evaluate(PIXELS, base64.b64encode(picture).decode())
    width, height = found["width"], found["height"]
    pixels = np.frombuffer(base64.b64decode(found["pixels"]), np.uint8).reshape(-1, 4)[:, :3]
    parts = list[tuple[bytes, bytes]]()
    for count in COLOURS:
        parts = list(_parts(pixels, width, height, count))
        if sum(len(content) + 12 for _, content in parts) <= most:
            break
    return parts


def _parts(pixels: NDArray[np.uint8], width: int, height: int, count: int) -> Iterator[tuple[bytes, bytes]]:
    palette, indices = _palette(pixels, count)
    rows = np.zeros((height, width + 1), np.uint8)  # The first byte of a row: no filter.
    rows[:, 1:] = indices.reshape(height, width)
    yield b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    yield b"PLTE", palette.tobytes()
    yield b"IDAT", zlib.compress(rows.tobytes(), 9)
    yield b"IEND", b""


def _palette(pixels: NDArray[np.uint8], count: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Colours, and for each pixel the nearest one of them.

    The first one covers most. Each other one is the worst shown so far: by its pixels, and by how far it is from those
    that are chosen. So a sign of few pixels keeps its hue beside many shades of grey.
    """
    wide = pixels.astype(np.int32)
    keys, inverse, sizes = np.unique(
        wide[:, 0] << 16 | wide[:, 1] << 8 | wide[:, 2], return_inverse=True, return_counts=True
    )
    colours = np.stack([keys >> 16, keys >> 8 & 255, keys & 255], axis=1)
    least = np.full(len(colours), np.iinfo(np.int32).max, np.int64)
    nearest = np.zeros(len(colours), np.uint8)
    chosen = list[int]()
    while len(chosen) < count and least.any():
        at = int((least * sizes).argmax())
        distances = ((colours - colours[at]) ** 2).sum(axis=1)
        nearest[distances < least] = len(chosen)
        least = np.minimum(least, distances)
        chosen.append(at)
    return colours[chosen].astype(np.uint8), nearest[inverse.reshape(-1)]
