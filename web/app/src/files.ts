/** What leaves the page: texts for the clipboard, and files. */

import { printable, printableJson } from "./printable.ts";
import { say } from "./state.ts";

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
  const address = URL.createObjectURL(new Blob([`${printableJson(value)}\n`], { type: "application/json" }));
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = fileName(name);
  anchor.click();
  URL.revokeObjectURL(address);
  say(`Stored: ${anchor.download}`);
}

/** A name that every file system takes. */
function fileName(name: string): string {
  return `${name.replace(/[^A-Za-z0-9.-]+/g, "-").slice(0, 120)}.json`;
}
