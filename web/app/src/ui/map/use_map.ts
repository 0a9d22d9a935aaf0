/** The map that is shown: asked for once, then kept up to date by the frames of the stream. */

import { effect } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Loader } from "../../loader.ts";
import { applied, fits } from "../../map/frames.ts";
import { about, answer, changes, followMap, isBehind, isPaused } from "../../state.ts";
import type { Frame, Map as NodeMap } from "../../wire.ts";

const LEAST_MS = 1000;

export interface Look {
  readonly topologyKey: string;
  readonly resource: string;
}

export function useMap(look: Look): Loader<NodeMap> {
  const [followed] = useState(() => new Followed(look));
  useEffect(() => followed.begin(), [followed]);
  return followed.loader;
}

class Followed {
  readonly loader: Loader<NodeMap>;
  private look: Look;
  /** Frames that have come since the map was asked for; null once it is there. */
  private frames: Frame[] | null = null;
  /** Frames were let go: the map has to be asked for. */
  private isOld = true;
  private stopFrames: (() => void) | null = null;

  constructor({ topologyKey, resource }: Look) {
    this.look = { topologyKey, resource };
    this.loader = new Loader<NodeMap>(
      (signal) => this.ask(signal),
      LEAST_MS,
      (map) => this.completed(map),
    );
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
    ];
    return () => {
      for (const stop of stops) stop();
      this.stopFrames?.();
      this.loader.stop();
    };
  }

  private async ask(signal: AbortSignal): Promise<NodeMap> {
    this.frames = [];
    this.isOld = false;
    const found = await answer<NodeMap>(pathOf(this.look), { signal }).catch((cause: unknown) => {
      this.isOld = true;
      throw cause;
    });
    // What is usual may change. What is shown does not, until somebody chooses.
    this.look = { topologyKey: found.topologyKey, resource: found.resource };
    return found;
  }

  /** The map that was asked for, with the frames that have come since then. */
  private completed(found: NodeMap): NodeMap {
    const frames = this.frames ?? [];
    this.frames = null;
    return frames.reduce((map, frame) => (fits(map.version, frame) === "yes" ? applied(map, frame) : map), found);
  }

  private follower() {
    return {
      query: queryOf(this.look),
      version: () => this.loader.answer.peek()?.version ?? "",
      frame: (text: string) => this.take(JSON.parse(text) as Frame),
      reset: () => this.again(),
    };
  }

  private take(frame: Frame): void {
    const map = this.loader.answer.peek();
    const fit = map === null ? "old" : fits(map.version, frame);
    this.frames?.push(frame);
    if (isPaused.peek() || document.hidden) this.again();
    else if (map !== null && fit === "yes") this.loader.answer.value = applied(map, frame);
    else if (fit === "gap") this.again();
  }

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
