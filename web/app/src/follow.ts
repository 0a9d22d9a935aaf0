/** The stream of changes, which is asked for again when it ends. */

import { Refusal, type Request, send } from "./client.ts";
import { EventLines, type StreamEvent } from "./event_lines.ts";

/** The server sends a heartbeat every 2 s. A stream that says nothing for longer is lost, and that is said within 5 s. */
const SILENCE_MS = 4_500;
/** The server asks the API server what may be seen before it answers. */
const OPENING_MS = 15_000;
const LONGEST_MS = 30_000;
/** Why the server ends a stream whose session goes on. */
const UNAVAILABLE = "Unavailable";

export interface Follower {
  /** What is shown may be old: ask again. */
  readonly changed: (version: string) => void;
  /** A frame of the map, as JSON. */
  readonly frame: (text: string) => void;
  /** The last version does not lead to what is there now: ask for everything again. */
  readonly reset: () => void;
  readonly open: () => void;
  /** The stream is lost, and is asked for again after that time. `wasSilent`: nothing came from it for too long. */
  readonly lost: (milliseconds: number, wasSilent: boolean) => void;
  /** The session has ended. */
  readonly ended: () => void;
}

/** How long to wait before the next attempt, by the number of those that failed. `luck`: from 0 to 1. */
export function backoff(failed: number, luck: number): number {
  return Math.min(LONGEST_MS, 1000 * 2 ** Math.min(failed - 1, 10)) * (0.75 + luck / 4);
}

/** Follow the stream of this path until the session ends or `signal` says so. `last`: the version from which it goes on. */
export async function follow(
  path: string,
  session: string,
  follower: Follower,
  signal: AbortSignal,
  last = "",
): Promise<void> {
  const stream = new Stream(path, session, follower, signal, last);
  let failed = 0;
  while (!signal.aborted) {
    const refusal = await stream.once();
    if (signal.aborted || stream.isOver) return;
    if (refusal?.status === 401) return follower.ended();
    failed = stream.wasOpen ? 1 : failed + 1;
    const wait = Math.max((refusal?.retryAfter ?? 0) * 1000, backoff(failed, Math.random()));
    follower.lost(wait, stream.wasSilent);
    await pause(wait, signal);
  }
}

class Stream {
  isOver = false;
  wasOpen = false;
  wasSilent = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last: string;
  private readonly path: string;
  private readonly session: string;
  private readonly follower: Follower;
  private readonly signal: AbortSignal;

  constructor(path: string, session: string, follower: Follower, signal: AbortSignal, last: string) {
    this.last = last;
    this.path = path;
    this.session = session;
    this.follower = follower;
    this.signal = signal;
  }

  /** Read one stream to its end. Returns why it was refused; null if it was there. */
  async once(): Promise<Refusal | null> {
    this.wasOpen = false;
    this.wasSilent = false;
    const silence = new AbortController();
    this.expect(silence, OPENING_MS);
    try {
      await this.read(await send(this.path, this.request(silence.signal)), silence);
    } catch (cause) {
      if (cause instanceof Refusal) return cause;
    } finally {
      clearTimeout(this.timer);
    }
    return null;
  }

  /** It has that long until something comes. */
  private expect(silence: AbortController, milliseconds: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.wasSilent = true;
      silence.abort();
    }, milliseconds);
  }

  private request(silence: AbortSignal): Request {
    const signal = AbortSignal.any([this.signal, silence]);
    const headers: Record<string, string> = this.last === "" ? {} : { "Last-Event-ID": this.last };
    return { session: this.session, headers, signal };
  }

  private async read(response: Response, silence: AbortController): Promise<void> {
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    if (reader === undefined) return;
    this.wasOpen = true;
    this.follower.open();
    const lines = new EventLines();
    this.expect(silence, SILENCE_MS);
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      this.expect(silence, SILENCE_MS);
      for (const event of lines.push(piece.value)) this.take(event);
      if (this.isOver) return;
    }
  }

  private take(event: StreamEvent): void {
    if (event.event === "ended") {
      const reason = reasonOf(event.data);
      this.isOver = reason !== UNAVAILABLE;
      if (this.isOver) this.follower.ended();
      return;
    }
    if (event.id !== "") this.last = event.id;
    if (event.event === "reset") this.follower.reset();
    if (event.event === "map") this.follower.frame(event.data);
    else this.follower.changed(event.id);
  }
}

function reasonOf(data: string): string {
  try {
    const said: unknown = JSON.parse(data);
    if (typeof said === "object" && said !== null && "reason" in said) return String(said.reason);
  } catch {
    // What cannot be read says nothing.
  }
  return "";
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      window.removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
    window.addEventListener("online", done);
  });
}
