/** What leaves the page: texts for the clipboard, and files. */

import { printable, printableJson } from "./printable.ts";
import { say } from "./state.ts";

/** How long the address of a file counts. */
const KEPT_MS = 60_000;

/** Put the text into the clipboard, and say so. */
export async function copy(text: string): Promise<void> {
  try {
    await window.navigator.clipboard.writeText(text);
    say(`Copied: ${printable(text)}`);
  } catch {
    say(`The browser does not let this page copy. It is: ${printable(text)}`);
  }
}

/** Store the value as a file of JSON. */
export function save(name: string, value: unknown): void {
  store(`${fileName(name)}.json`, new Blob([`${printableJson(value)}\n`], { type: "application/json" }));
}

/** Store the text of a picture as a file of SVG. */
export function saveSvg(name: string, picture: string): void {
  store(`${fileName(name)}.svg`, new Blob([picture], { type: "image/svg+xml" }));
}

/** Store a picture as a file of PNG. */
export function savePng(name: string, picture: Blob): void {
  store(`${fileName(name)}.png`, picture);
}

function store(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  // A busy browser begins to read it later, and finds nothing if the address has gone by then.
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
  say(`Stored: ${anchor.download}`);
}

/** A name that every file system takes. */
function fileName(name: string): string {
  return name.replace(/[^A-Za-z0-9.-]+/g, "-").slice(0, 120);
}
