import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { Inks } from "../../map/palette.ts";
import { theme } from "../../theme.ts";

const QUERIES = ["(prefers-color-scheme: dark)", "(forced-colors: active)"];

/** The colours of the page as they are now, for a canvas: it knows no variables of style sheets. Null at first. */
export function useInks(canvas: RefObject<HTMLCanvasElement | null>): Inks | null {
  const [inks, setInks] = useState<Inks | null>(null);
  const chosen = theme.value;
  useLayoutEffect(() => {
    const look = (): void => setInks(canvas.current === null ? null : inksOf(canvas.current));
    look();
    const media = QUERIES.map((query) => window.matchMedia(query));
    for (const each of media) each.addEventListener("change", look);
    return () => {
      for (const each of media) each.removeEventListener("change", look);
    };
  }, [canvas, chosen]);
  return inks;
}

function inksOf(element: HTMLElement): Inks {
  const style = getComputedStyle(element);
  return {
    ink: style.color,
    paper: style.backgroundColor,
    hair: style.borderTopColor,
    quiet: style.borderBottomColor,
    focus: style.borderLeftColor,
    isForced: window.matchMedia("(forced-colors: active)").matches,
  };
}
