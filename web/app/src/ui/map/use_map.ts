/**
 * The map that is shown: asked for once, then kept up to date by the frames of the stream. All that come before the next
 * picture are put into it together.
 */

import { effect } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { atFrame, notAtFrame } from "../../at_frame.ts";
import { type Calm, calmed } from "../../calm.ts";
import { Loader } from "../../loader.ts";
import { modelOf } from "../../map/columns.ts";
import { fitted } from "../../map/frames.ts";
import type { Model } from "../../map/model.ts";
import { about, answer, changes, followMap, isBehind, isPaused } from "../../state.ts";
import type { Frame, Map as NodeMap } from "../../wire.ts";

const LEAST_MS = 1000;
/** How old texts may be. */
const TEXTS_MS = 250;

export interface Look {
  readonly topologyKey: string;
  readonly resource: string;
}

export function useMap(look: Look): Followed {
  const [followed] = useState(() => new Followed(look));
  useEffect(() => followed.begin(), [followed]);
  return followed;
}

export class Followed {
  readonly loader: Loader<Model>;
  /** For texts: they need not follow each frame. */
  readonly calm: Calm<Model>;
  private look: Look;
  /** Frames that have come since the map was asked for; null once it is there. */
  private since: Frame[] | null = null;
  /** Frames that are put into the map before the next picture. */
  private waiting: Frame[] = [];
  /** Frames were let go: the map has to be asked for. */
  private isOld = true;
  private stopFrames: (() => void) | null = null;

  constructor({ topologyKey, resource }: Look) {
    this.look = { topologyKey, resource };
    this.loader = new Loader<Model>(
      (signal) => this.ask(signal),
      LEAST_MS,
      (map) => this.completed(map),
    );
    this.calm = calmed(this.loader.answer, TEXTS_MS);
  }

  begin(): () => void {
    const stops = [
      changes.subscribe(() => {
        if (this.isOld) this.loader.refresh();
      }),
      effect(() => {
        if (isPaused.value && this.loader.hold()) isBehind.value = true;
      }),
      effect(() => {
        if (this.loader.answer.value !== null && about.value?.live) this.stopFrames ??= followMap(this.follower());
      }),
      () => this.calm.stop(),
      () => notAtFrame(this.put),
    ];
    return () => {
      for (const stop of stops) stop();
      this.stopFrames?.();
      this.loader.stop();
    };
  }

  private async ask(signal: AbortSignal): Promise<Model> {
    this.since = [];
    this.isOld = false;
    const found = await answer<NodeMap>(pathOf(this.look), { signal }).catch((cause: unknown) => {
      this.since = null;
      this.isOld = true;
      throw cause;
    });
    // What is usual may change. What is shown does not, until somebody chooses.
    this.look = { topologyKey: found.topologyKey, resource: found.resource };
    return modelOf(found);
  }

  /** The map that was asked for, with the frames that have come since then. */
  private completed(found: Model): Model {
    const { model, hasGap } = fitted(found, this.since ?? []);
    this.since = null;
    if (hasGap) this.again();
    return model;
  }

  private follower() {
    return {
      query: queryOf(this.look),
      version: () => this.waiting.at(-1)?.version ?? this.loader.answer.peek()?.head.version ?? "",
      frame: (text: string) => this.take(JSON.parse(text) as Frame),
      reset: () => this.again(),
    };
  }

  private take(frame: Frame): void {
    this.since?.push(frame);
    if (isPaused.peek() || document.hidden) {
      this.again();
      return;
    }
    this.waiting.push(frame);
    atFrame(this.put);
  }

  private readonly put = (): void => {
    const frames = this.waiting;
    this.waiting = [];
    const map = this.loader.answer.peek();
    if (map === null) return;
    if (isPaused.peek()) {
      this.again();
      return;
    }
    const { model, hasGap } = fitted(map, frames);
    this.loader.answer.value = model;
    // One that is asked for already has the frame.
    if (hasGap && this.since === null) this.again();
  };

  /** Ask for the map, as soon as somebody looks at it. */
  private again(): void {
    this.isOld = true;
    if (isPaused.peek()) isBehind.value = true;
    else if (!document.hidden) this.loader.refresh();
  }
}

function queryOf({ topologyKey, resource }: Look): string {
  return new URLSearchParams({ topologyKey, resource }).toString();
}

function pathOf({ topologyKey, resource }: Look): string {
  const query = new URLSearchParams();
  if (topologyKey !== "") query.set("topologyKey", topologyKey);
  if (resource !== "") query.set("resource", resource);
  const said = query.toString();
  return said === "" ? "map" : `map?${said}`;
}
