"""Scripts that `bench.page` runs in the browser: they move what is there, and note when it was drawn."""

from __future__ import annotations

from typing import Final

__all__ = ["BARE", "MOVE", "NOTES", "SUMS"]

NOTES: Final = """
window.bench = { painted: [], tasks: 0 };
{
  // A canvas of the document is drawn on: the frame is there when the task after it begins.
  const draw = CanvasRenderingContext2D.prototype.drawImage;
  let waits = false;
  CanvasRenderingContext2D.prototype.drawImage = function (...given) {
    if (this.canvas.isConnected && !waits) {
      waits = true;
      const canvas = this.canvas;
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => {
          waits = false;
          window.bench.painted.push([performance.timeOrigin + performance.now(), window.bench.sum?.(canvas) ?? 0]);
        };
        channel.port2.postMessage(0);
      });
    }
    return draw.apply(this, given);
  };
}
"""
"""Before the page's own scripts. `bench.painted` has when the map was drawn, in milliseconds since 1970."""

SUMS: Final = """
() => {
  window.bench.painted = [];
  window.bench.sum = (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const words = new Uint32Array(data.buffer);
    let sum = 0;
    for (let at = 0; at < words.length; at++) sum = (Math.imul(sum, 31) + words[at]) | 0;
    return sum;
  };
}
"""
"""From now on `bench.painted` has a sum of all pixels, too."""

MOVE: Final = """
async (seconds) => {
  const canvas = document.querySelector("canvas");
  const box = canvas.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const at = (dx, dy, more) => ({
    clientX: x + dx, clientY: y + dy, bubbles: true, cancelable: true, view: window, ...more,
  });
  const began = performance.now();
  let frames = 0;
  let pressed = false;
  await new Promise((done) => {
    const frame = () => {
      const gone = (performance.now() - began) / 1000;
      if (gone >= seconds) {
        if (pressed) window.dispatchEvent(new MouseEvent("mouseup", at(0, 0)));
        return done();
      }
      frames++;
      // Two seconds each: in or out, then aside. The closest one comes in ten seconds is where pods are drawn.
      const turn = Math.floor(gone / 2);
      const isPan = turn % 2 === 1;
      if (isPan && !pressed) canvas.dispatchEvent(new MouseEvent("mousedown", at(0, 0, { button: 0, buttons: 1 })));
      if (!isPan && pressed) window.dispatchEvent(new MouseEvent("mouseup", at(0, 0)));
      pressed = isPan;
      if (isPan) {
        const away = Math.sin((gone % 2) * Math.PI) * 200;
        window.dispatchEvent(new MouseEvent("mousemove", at(away, away / 2, { buttons: 1 })));
      } else {
        const direction = turn % 4 === 0 ? -1 : 1;
        canvas.dispatchEvent(new WheelEvent("wheel", at(0, 0, { deltaY: direction * 14, deltaMode: 0 })));
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  return frames;
}
"""
"""Move the first canvas for a number of seconds. Returns the number of frames."""

BARE: Final = """
<!DOCTYPE html>
<style>body { margin: 0 } canvas { display: block; width: 100vw; height: 100vh }</style>
<canvas></canvas>
<script>
  const canvas = document.querySelector("canvas");
  canvas.width = innerWidth;
  canvas.height = innerHeight;
  const picture = new OffscreenCanvas(canvas.width, canvas.height);
  const brush = picture.getContext("2d");
  for (let at = 0; at < 5000; at++) {
    brush.fillStyle = `hsl(${at % 360} 60% 60%)`;
    brush.fillRect((at * 7919) % picture.width, (at * 104729) % picture.height, 12, 12);
  }
  const context = canvas.getContext("2d");
  let [left, top_, scale, from] = [0, 0, 1, null];
  let asked = 0;
  const ask = () => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(() => {
      context.clearRect(0, 0, canvas.width, canvas.height);
      context.drawImage(picture, left, top_, picture.width * scale, picture.height * scale);
    });
  };
  canvas.addEventListener("wheel", (event) => { scale *= 2 ** (-event.deltaY / 500); ask(); });
  canvas.addEventListener("mousedown", (event) => { from = event; });
  addEventListener("mousemove", (event) => {
    if (from !== null) { left = event.clientX - from.clientX; top_ = event.clientY - from.clientY; ask(); }
  });
  addEventListener("mouseup", () => { from = null; });
  ask();
</script>
"""
"""A page that does nothing but move a picture of its own size."""
