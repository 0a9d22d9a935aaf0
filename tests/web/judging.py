"""What a browser says of a view: axe-core's rules, and texts that are cut."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.async_api import Page

__all__ = ["cut", "violations"]

AXE: Final = Path(__file__).parents[2] / "web" / "app" / "node_modules" / "axe-core" / "axe.min.js"
RUN: Final = """
async () => (await axe.run(document, { resultTypes: ["violations"] })).violations.flatMap(
  (rule) => rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary}`))
"""
CUT: Final = """
() => {
  const found = [];
  const { clientWidth: width, scrollWidth } = document.documentElement;
  if (scrollWidth > width) found.push(`the page is ${scrollWidth} wide`);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const element = node.parentElement;
    if (node.data.trim() === "" || element.closest(".unseen, .skip, option, dialog:not([open]), [hidden]")) continue;
    if (getComputedStyle(element).visibility === "hidden") continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width > 2 && (box.right > width + 1 || box.left < -1)) found.push(`outside: ${node.data}`);
    }
    for (let around = element; around !== document.body; around = around.parentElement) {
      const style = getComputedStyle(around);
      const isClipped = style.clipPath !== "none";
      if (isClipped) break;
      const hides = style.overflowX === "hidden" || style.textOverflow === "ellipsis";
      if (hides && around.scrollWidth > around.clientWidth + 1) found.push(`cut: ${node.data}`);
    }
  }
  return [...new Set(found)];
}
"""


@cache
def _axe() -> str:
    return AXE.read_text()


async def violations(page: Page) -> list[str]:
    """What breaks a rule of axe-core, one line each."""
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(_axe())
    found: list[str] = await page.evaluate(RUN)
    return found


async def cut(page: Page) -> list[str]:
    """Texts that a reader does not see whole, and a page that is wider than the window."""
    found: list[str] = await page.evaluate(CUT)
    return found
