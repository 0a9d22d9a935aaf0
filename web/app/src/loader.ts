/** An answer that is asked for again when something has changed. */

import { signal } from "@preact/signals";
import { Refusal } from "./client.ts";

export class Loader<T> {
  /** The newest answer; null before the first one. */
  readonly answer = signal<T | null>(null);
  /** Why the last question was not answered; null if it was. */
  readonly refusal = signal<Refusal | null>(null);
  private readonly ask: (signal: AbortSignal) => Promise<T>;
  private readonly leastMs: number;
  private readonly completed: (answer: T) => T;
  private readonly stopping = new AbortController();
  private isBusy = false;
  private isWanted = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * `leastMs`: how long after an answer the next question may be asked. `completed`: what is shown in place of an
   * answer, at the moment when it is shown.
   */
  constructor(ask: (signal: AbortSignal) => Promise<T>, leastMs: number, completed = (answer: T): T => answer) {
    this.ask = ask;
    this.leastMs = leastMs;
    this.completed = completed;
  }

  /** Ask now; or soon, if it was asked a short time ago. */
  refresh(): void {
    this.isWanted = true;
    if (!this.isBusy && this.timer === undefined) void this.once();
  }

  /** Do not ask soon. Returns whether it would have asked. */
  hold(): boolean {
    const was = this.isWanted;
    this.isWanted = false;
    return was;
  }

  stop(): void {
    this.stopping.abort();
    clearTimeout(this.timer);
  }

  private async once(): Promise<void> {
    this.isBusy = true;
    this.isWanted = false;
    let wait = this.leastMs;
    try {
      const answer = await this.ask(this.stopping.signal);
      if (this.stopping.signal.aborted) return;
      this.answer.value = this.completed(answer);
      this.refusal.value = null;
    } catch (cause) {
      if (this.stopping.signal.aborted) return;
      if (!(cause instanceof Refusal)) throw cause;
      this.refusal.value = cause;
      if (hides(cause)) this.answer.value = null;
      wait = Math.max(wait, cause.retryAfter * 1000);
      // The server says when to come back: after too many questions, and while it has no answer yet.
      this.isWanted ||= cause.retryAfter > 0;
    } finally {
      this.isBusy = false;
    }
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.isWanted) void this.once();
    }, wait);
  }
}

/** What may not be seen any longer, or is gone, is not shown any longer. */
function hides(refusal: Refusal): boolean {
  return refusal.status === 401 || refusal.status === 403 || refusal.status === 404;
}
