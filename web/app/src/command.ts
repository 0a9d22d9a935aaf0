/** The command that gives the same answer, for a shell. */

import type { Kind } from "./api.ts";

const PLAIN = /^[\w@%+=:,./-]+$/;
const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** `reprieve why KIND NAMESPACE/NAME` with the options that read the same cluster. */
export function whyCommand(kind: Kind, namespace: string, name: string, options: string): string {
  const object = quoted(`${namespace}/${name}`);
  // A name that begins with a hyphen would be an option.
  const words = ["reprieve why", kind, options, namespace.startsWith("-") ? "--" : "", object];
  return words.filter((word) => word !== "").join(" ");
}

/** `reprieve queue`, of one queue if there is a name. It takes no option about owners. */
export function queueCommand(namespace: string, name: string, options: string): string {
  const whole = namespace === "" ? name : `${namespace}/${name}`;
  const object = whole === "" ? "" : quoted(whole);
  const words = ["reprieve queue", without(options, "groups-by-owner"), whole.startsWith("-") ? "--" : "", object];
  return words.filter((word) => word !== "").join(" ");
}

/** The options without the one of this name. Options that say how to decide come last, those that say where to read before. */
function without(options: string, name: string): string {
  const last = /(?: ?--(?:now|groups-by-owner) [^ ']+)*$/.exec(options)?.index ?? options.length;
  return options.slice(0, last) + options.slice(last).replace(new RegExp(` ?--${name} [^ ']+`), "");
}

/** `reprieve who-evicted NAMESPACE/NAME` with the options that read the same cluster. It takes no time. */
export function evictedCommand(namespace: string, name: string, options: string): string {
  const object = quoted(`${namespace}/${name}`);
  const words = ["reprieve who-evicted", without(options, "now"), namespace.startsWith("-") ? "--" : "", object];
  return words.filter((word) => word !== "").join(" ");
}

/** A command that takes no object, with the options that read the same cluster. `words`: each is one word. */
export function command(name: string, words: readonly string[], options: string): string {
  return [`reprieve ${name}`, ...words.map(quoted), options].filter((word) => word !== "").join(" ");
}

/** The text as one word of a POSIX shell; with control characters, of bash or zsh. */
export function quoted(text: string): string {
  if (PLAIN.test(text)) return text;
  if (!CONTROL.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  let word = "";
  for (const byte of new TextEncoder().encode(text)) word += inBash(byte);
  return `$'${word}'`;
}

function inBash(byte: number): string {
  if (byte === 0x27 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`;
  if (byte >= 0x20 && byte < 0x7f) return String.fromCharCode(byte);
  return `\\x${byte.toString(16).padStart(2, "0")}`;
}
