/** A value that changes often, for what is dear to make of it. */

import { effect, type ReadonlySignal, signal } from "@preact/signals";

export interface Calm<T> {
  /** The newest value, or one that is at most that old. */
  readonly value: ReadonlySignal<T | null>;
  readonly stop: () => void;
}

/** Follows `source`. Of changes within `milliseconds`, only the last one arrives. Null comes and goes at once. */
export function calmed<T>(source: ReadonlySignal<T | null>, milliseconds: number): Calm<T> {
  const value = signal(source.peek());
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tell = (): void => {
    clearTimeout(timer);
    timer = undefined;
    value.value = source.peek();
  };
  const follow = effect(() => {
    const now = source.value;
    if (now === null || value.peek() === null) tell();
    else timer ??= setTimeout(tell, milliseconds);
  });
  return {
    value,
    stop: () => {
      follow();
      clearTimeout(timer);
    },
  };
}
