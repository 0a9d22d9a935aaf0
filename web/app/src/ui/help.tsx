/** The keys, and where one reads more. */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export const helpIsOpen = signal(false);

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "Search for an object by its name"],
  ["↑ ↓ Home End", "Move in a list"],
  ["← ↑ → ↓", "Move among the nodes of the map"],
  ["+ - 0", "Look closer, look from further away, see all of the map"],
  ["Enter", "Open what is chosen"],
  ["Esc", "Close this, leave the search, or go back to the list"],
  ["?", "This help"],
];

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = (): void => dialog.current?.close();
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={closed}>
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        {KEYS.map(([key, does]) => (
          <div key={key}>
            <dt>
              {key.split(" ").map((each) => (
                <kbd key={each}>{each}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <p>
        This page only reads. What it says about one object is what <code>reprieve why</code> prints.{" "}
        <a href={LICENSES} target="_blank" rel="noopener">
          Licenses
        </a>
      </p>
      <p class="actions">
        <button type="button" onClick={close}>
          Close
        </button>
      </p>
    </dialog>
  );
}

function closed(): void {
  helpIsOpen.value = false;
}
