/**
 * Text as the command prints it: what cannot be printed is escaped as Python and JSON write it (`\x1b`, `\u202e`).
 *
 * Names, messages and annotations come from whoever may write to the cluster. A control character in them could hide
 * text or change its direction.
 */

/** What `str.isprintable` of Python refuses: controls, formats, unassigned, separators, every space but the usual one. */
const SUSPECT = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;
const SHORT = new Map([
  ["\t", "\\t"],
  ["\n", "\\n"],
  ["\r", "\\r"],
]);

/** The text on one line, with all characters escaped that cannot be printed. */
export function printable(text: string): string {
  return text.replace(SUSPECT, escaped);
}

function escaped(char: string): string {
  const short = SHORT.get(char);
  if (short !== undefined) return short;
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x100) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}

/** JSON with indentation. Its values are the same, and no character in it moves or hides another one. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(SUSPECT, (char) => (char === "\n" ? char : inJson(char)));
}

function inJson(char: string): string {
  let text = "";
  for (let at = 0; at < char.length; at++) text += `\\u${hex(char.charCodeAt(at), 4)}`;
  return text;
}

/** A word in CamelCase in the parts between which a line may break. */
export function camelParts(word: string): string[] {
  return word.split(/(?<=[a-z0-9])(?=[A-Z])/);
}
