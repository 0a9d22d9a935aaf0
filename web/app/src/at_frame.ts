/** What is to be done before the browser draws next. */

/** In the order in which they were asked for. */
const wanted = new Set<() => void>();
/** What was done in this frame already. */
const done = new Set<() => void>();
let asked = 0;

/**
 * Call back once before the next picture. What is asked for within such a call comes in the same frame: so what has come
 * is put into the map and drawn at once. What was called already in this frame comes in the next one.
 */
export function atFrame(act: () => void): void {
  wanted.add(act);
  if (asked === 0) asked = requestAnimationFrame(run);
}

/** Do not call back. */
export function notAtFrame(act: () => void): void {
  wanted.delete(act);
}

function run(): void {
  const later = new Set<() => void>();
  try {
    for (const act of wanted) {
      wanted.delete(act);
      if (done.has(act)) later.add(act);
      else {
        done.add(act);
        act();
      }
    }
  } finally {
    done.clear();
    for (const act of later) wanted.add(act);
    asked = wanted.size > 0 ? requestAnimationFrame(run) : 0;
  }
}
