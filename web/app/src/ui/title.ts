import { useEffect, useRef } from "preact/hooks";

/** Names the window after the view, and puts the focus on its heading when one has come by a link. */
export function useTitle(text: string) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${text} · reprieve`;
  }, [text]);
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement === null) {
      heading.current?.focus({ preventScroll: true });
    }
  }, []);
  return heading;
}
