/** What all views share: the session, where one is, and whether what is shown is new. */

import { effect, signal } from "@preact/signals";
import { namespacesOf, type Route, readRoute, takeCode } from "./address.ts";
import { ask, Refusal, type Request, send, within } from "./client.ts";
import { follow } from "./follow.ts";
import { type Channel, Handing } from "./handing.ts";
import { Loader } from "./loader.ts";
import type { SessionAnswer } from "./wire.ts";

export type Link =
  | { readonly state: "connecting" }
  | { readonly state: "open" }
  | { readonly state: "lost"; readonly since: string; readonly retrying: string };

export type Entry =
  | { readonly state: "looking" }
  | { readonly state: "out"; readonly why: string }
  | { readonly state: "in"; readonly session: string };

/** Whether somebody is logged in. */
export const entry = signal<Entry>({ state: "looking" });
/** Who is logged in, and what is looked at; null until the server has said so. */
export const about = signal<SessionAnswer | null>(null);
export const route = signal<Route>(readRoute(""));
export const link = signal<Link>({ state: "connecting" });
/** Updates of this page are paused. */
export const isPaused = signal(false);
/** Something was changed while updates were paused. */
export const isBehind = signal(false);
/** Grows when what is shown may be old. */
export const changes = signal(0);
/** What was done last, for people who cannot see it. */
export const said = signal("");

/** The namespaces that the address names. All that one may see if it names none. */
export const asked = namespacesOf(window.location.search);

/** How long it is shown what was done. */
const SHOWN_MS = 8000;

/** The least time between two looks at the state of the cluster. */
const LOOK_MS = 500;

/** A stream that comes back within that time was not lost: proxies end streams that are old. */
const SOON_MS = 3000;

const NOBODY = { reason: "Unauthorized", message: "Nobody is logged in.", right: "" };

let losing: { readonly since: string; readonly timer: ReturnType<typeof setTimeout> } | null = null;
let retrying = "";
let silence: ReturnType<typeof setTimeout> | undefined;
let handing: Handing;
let following = new AbortController();
let map: MapFollower | null = null;

/** Take the code out of the address before anything else is done, then find out who is here. */
export function begin(): void {
  const code = takeCode(window.location, window.history);
  const name = `reprieve ${new URL(".", document.baseURI).pathname}`;
  handing = new Handing(window.sessionStorage, new BroadcastChannel(name) as Channel);
  window.addEventListener("hashchange", () => moved());
  window.addEventListener("offline", () => lost(0));
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) changes.value++;
  });
  route.value = readRoute(window.location.hash);
  void enter(code);
}

function moved(): void {
  const code = takeCode(window.location, window.history);
  route.value = readRoute(window.location.hash);
  if (code !== "") void enter(code);
}

async function enter(code: string): Promise<void> {
  if (code !== "") await logIn({ code });
  else await open(await handing.find());
}

/** Log in with a code or a token. The refusal is said by the view. */
export async function logIn(secret: { readonly code: string } | { readonly token: string }): Promise<void> {
  try {
    const answer = await ask<{ session: string }>("session", { method: "POST", body: secret });
    await open(answer.session);
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    leave(cause.message);
  }
}

/** End the session here and on the server. */
export async function logOut(): Promise<void> {
  const session = sessionNow();
  leave("You have logged out.");
  if (session !== "") await send("session", { method: "DELETE", session }).catch(() => undefined);
}

/** `session`: empty if there is none. A proxy before the server may have logged the reader in all the same. */
async function open(session: string): Promise<void> {
  try {
    about.value = await ask<SessionAnswer>(within("session", asked), { session });
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    if (cause.status === 401) return leave(session === "" ? "" : cause.message);
    // The session may still be good. A reload tries it again.
    entry.value = { state: "out", why: cause.message };
    return;
  }
  if (session !== "") handing.keep(session);
  entry.value = { state: "in", session };
  listen();
}

/** Follow the stream from now on, as long as somebody is logged in. */
function listen(): void {
  following.abort();
  following = new AbortController();
  if (entry.value.state !== "in") return;
  const topics = map === null ? "waiting" : `waiting,map&${map.query}`;
  const path = within(`events?topics=${topics}`, asked);
  void follow(path, entry.value.session, FOLLOWER, following.signal, map?.version());
}

export interface MapFollower {
  /** Which map it is. */
  readonly query: string;
  /** Of the map that is there. */
  readonly version: () => string;
  readonly frame: (text: string) => void;
  /** The map has to be asked for anew. */
  readonly reset: () => void;
}

/** Get the frames of a map, until what is returned is called. */
export function followMap(follower: MapFollower): () => void {
  map = follower;
  listen();
  return () => {
    if (map !== follower) return;
    map = null;
    listen();
  };
}

/** Go back to the login, at the same address. */
export function leave(why: string): void {
  following.abort();
  clearTimeout(losing?.timer);
  losing = null;
  link.value = { state: "connecting" };
  handing.drop();
  about.value = null;
  entry.value = { state: "out", why };
}

function sessionNow(): string {
  return entry.value.state === "in" ? entry.value.session : "";
}

/** The answer of the server for whoever is logged in. Raises Refusal. A session that has ended leads to the login. */
export async function answer<T>(path: string, request: Request = {}): Promise<T> {
  const here = entry.value;
  // The server would say why nobody is logged in, in place of why the session has ended.
  if (here.state !== "in") throw new Refusal(401, NOBODY);
  try {
    return await ask<T>(within(path, asked), { ...request, session: here.session });
  } catch (cause) {
    const isOver = cause instanceof Refusal && cause.status === 401;
    // Somebody may have logged in again since then.
    if (isOver && entry.value === here) leave(cause.message);
    throw cause;
  }
}

const FOLLOWER = {
  changed: () => {
    if (isPaused.value) isBehind.value = true;
    else if (!document.hidden) changes.value++;
  },
  frame: (text: string) => map?.frame(text),
  reset: () => map?.reset(),
  open: () => {
    if (losing !== null) FOLLOWER.changed();
    found();
  },
  lost,
  ended: () => leave("The session has ended."),
};

/**
 * The stream is lost, and is asked for again after that time. It is said if it does not come back soon. One that was
 * silent has been away for long enough.
 */
function lost(milliseconds: number, wasSilent = false): void {
  const now = Date.now();
  losing ??= { since: new Date(now).toISOString(), timer: setTimeout(sayLost, SOON_MS) };
  retrying = new Date(now + milliseconds).toISOString();
  if (wasSilent || link.value.state === "lost" || !navigator.onLine) sayLost();
}

function sayLost(): void {
  if (losing !== null) link.value = { state: "lost", since: losing.since, retrying };
}

function found(): void {
  clearTimeout(losing?.timer);
  losing = null;
  link.value = { state: "open" };
}

/** The mode, pauses and limits as they are now. One question at a time: an older answer never comes after a newer one. */
const looking = new Loader<SessionAnswer>((signal) => answer<SessionAnswer>("session", { signal }), LOOK_MS);

looking.answer.subscribe((said) => {
  if (said === null || entry.value.state !== "in") return;
  // Who looks at it has nothing to do if it says the same as before.
  if (JSON.stringify(said) !== JSON.stringify(about.peek())) about.value = said;
});

effect(() => {
  if (changes.value > 0) looking.refresh();
});

/** Stop updates of this page, or go on with them. */
export function pauseUpdates(): void {
  isPaused.value = !isPaused.value;
  say(isPaused.value ? "Updates of this page are paused. Evictions are not." : "Updates of this page go on.");
  if (!isPaused.value && isBehind.value) {
    isBehind.value = false;
    changes.value++;
  }
}

/** Say something that one sees elsewhere, or that is done. */
export function say(text: string): void {
  said.value = text;
  clearTimeout(silence);
  silence = setTimeout(() => {
    said.value = "";
  }, SHOWN_MS);
}
