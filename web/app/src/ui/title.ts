import { useEffect, useRef } from "preact/hooks";

let isFirst = true;

/** Names the window after the view, and puts the focus on its heading when one has come from another view. */
export function useTitle(text: string) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${text} · reprieve`;
  }, [text]);
  useEffect(() => {
    const isEntered = isFirst;
    isFirst = false;
    if (isEntered) return;
    if (document.activeElement === document.body || document.activeElement === null) {
      heading.current?.focus({ preventScroll: true });
    }
  }, []);
  return heading;
}
