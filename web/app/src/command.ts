/** The command that gives the same answer, for a shell. */

import type { Kind } from "./address.ts";
import type { SessionAnswer } from "./wire.ts";

const PLAIN = /^[\w@%+=:,./-]+$/;
const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** `reprieve why KIND NAMESPACE/NAME` with the options that read the same cluster. */
export function whyCommand(kind: Kind, namespace: string, name: string, options: string): string {
  return about(`reprieve why ${kind}`, options, `${namespace}/${name}`);
}

/** `reprieve queue`, of one queue if there is a name. It takes no option about owners. */
export function queueCommand(namespace: string, name: string, options: string): string {
  const whole = namespace === "" ? name : `${namespace}/${name}`;
  return about("reprieve queue", without(options, "groups-by-owner"), whole);
}

/** The options without the one of this name. Options that say how to decide come last, those that say where to read before. */
function without(options: string, name: string): string {
  const last = /(?: ?--(?:now|groups-by-owner) [^ ']+)*$/.exec(options)?.index ?? options.length;
  return options.slice(0, last) + options.slice(last).replace(new RegExp(` ?--${name} [^ ']+`), "");
}

/** `reprieve who-evicted NAMESPACE/NAME` with the options that read the same cluster. It takes no time. */
export function evictedCommand(namespace: string, name: string, options: string): string {
  return about("reprieve who-evicted", without(options, "now"), `${namespace}/${name}`);
}

type Scope = Pick<SessionAnswer, "live" | "namespaces" | "reads">;

export const PLANS = ["preemptionplans.reprieve.dev", "dispatchplans.reprieve.dev"] as const;
export const EVICTING_PLANS = ["preemptionplans.reprieve.dev"] as const;
export const ON_NODES = ["nodes", "pods", "preemptionplans.reprieve.dev"] as const;

/**
 * `kubectl get`: the stored objects that a panel is made of, which no command of reprieve prints. One for each namespace
 * if the reader may not list in all of them. Empty for files, which have the objects already.
 */
export function storedCommand(kinds: readonly string[], scope: Scope | null): string {
  if (scope === null || !scope.live) return "";
  const places = scope.namespaces.all ? ["-A"] : scope.namespaces.named.map((each) => `-n ${quoted(each)}`);
  return places.map((place) => joined(["kubectl get", kinds.join(","), scope.reads, place, "-o json"])).join(" && ");
}

/** `kubectl get` of one plan; empty for files. */
export function planCommand(kind: string, namespace: string, name: string, scope: Scope | null): string {
  if (scope === null || !scope.live) return "";
  const resource = `${kind.toLowerCase()}s.reprieve.dev`;
  return joined([`kubectl get ${resource}`, scope.reads, `-n ${quoted(namespace)}`, "-o json", quoted(name)]);
}

/** `kubectl describe node`: its room, and its pods; empty for files. */
export function nodeCommand(name: string, scope: Scope | null): string {
  return scope?.live ? joined(["kubectl describe node", scope.reads, quoted(name)]) : "";
}

/** A command that takes no object, with the options that read the same cluster. `words`: each is one word. */
export function command(name: string, words: readonly string[], options: string): string {
  return joined([`reprieve ${name}`, ...words.map(quoted), options]);
}

/** A command about an object; about all of them if it has no name. */
function about(begin: string, options: string, object: string): string {
  // A name that begins with a hyphen would be an option.
  return joined([begin, options, object.startsWith("-") ? "--" : "", object === "" ? "" : quoted(object)]);
}

/** The words that are not empty, as one line. */
export function joined(words: readonly string[]): string {
  return words.filter((word) => word !== "").join(" ");
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
