/** The picture of the map: a canvas, moved by pointer and keys, and its legend. */

import { effect, type ReadonlySignal } from "@preact/signals";
import type { ZoomTransform } from "d3-zoom";
import { useEffect, useRef, useState } from "preact/hooks";
import { type MapChoice, mapAddress } from "../../address.ts";
import { ON_NODES, storedCommand } from "../../command.ts";
import { copy, save, savePng, saveSvg } from "../../files.ts";
import { Chart } from "../../map/chart.ts";
import type { LegendLine } from "../../map/drawn.ts";
import { neighbour } from "../../map/layout.ts";
import type { Model } from "../../map/model.ts";
import { placed } from "../../map/placed.ts";
import { pngOf } from "../../map/png.ts";
import type { Level } from "../../map/shapes.ts";
import { svgOf } from "../../map/svg.ts";
import { about } from "../../state.ts";
import { grouped } from "../../waiting.ts";
import { CopyCommand } from "../panel.tsx";
import { useInks } from "./inks.ts";
import { Gangs, Tones } from "./legend.tsx";
import { choose } from "./map.tsx";
import { lineOf } from "./said.ts";
import { usePods } from "./use_pods.ts";

/** By topology key: where one looked before. */
const looked = new Map<string, ZoomTransform>();

interface Props {
  /** What texts say. */
  readonly model: Model;
  /** What is drawn. */
  readonly newest: ReadonlySignal<Model | null>;
  readonly choice: MapChoice;
  readonly found: ReadonlySet<string>;
}

export function MapPicture({ model, newest, choice, found }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const chart = useRef<Chart | null>(null);
  const active = useRef(choice.node);
  const [level, setLevel] = useState<Level>("far");
  const [legend, setLegend] = useState<readonly LegendLine[]>([]);
  const [names, setNames] = useState<readonly string[]>([]);
  const [said, setSaid] = useState("");
  const inks = useInks(canvas);
  const podsOf = usePods(level, names, model.head.version);
  const { topologyKey, resource } = model.head;
  const chosen = useRef(choice);
  chosen.current = choice;

  useEffect(() => {
    if (canvas.current === null) return;
    const hooks = {
      rested: (now: Level, lines: readonly LegendLine[], seen: readonly string[]) => {
        setLevel(now);
        setLegend((before) => (JSON.stringify(before) === JSON.stringify(lines) ? before : lines));
        setNames((before) => (isSame(before, seen) ? before : seen));
      },
      clicked: (name: string) => choose({ ...chosen.current, node: name }),
      moved: (transform: ZoomTransform) => looked.set(topologyKey, transform),
    };
    const made = new Chart(canvas.current, hooks, looked.get(topologyKey) ?? null);
    chart.current = made;
    const sizes = new ResizeObserver(() => made.resized());
    sizes.observe(canvas.current);
    return () => {
      sizes.disconnect();
      made.stop();
      chart.current = null;
    };
  }, [topologyKey]);

  const { gang, node } = choice;
  useEffect(() => {
    if (inks === null) return;
    // Past the components: a frame changes the picture alone.
    return effect(() => {
      const now = newest.value;
      if (now === null) return;
      chart.current?.show({ model: now, layout: placed(now), choice: { gang, node, found }, inks, podsOf });
    });
  }, [newest, gang, node, found, inks, podsOf]);
  useEffect(() => {
    if (node === "") return;
    active.current = node;
    chart.current?.mark(node);
  }, [node]);

  const move = (key: string): boolean => {
    const now = newest.peek();
    const to = now === null ? "" : neighbour(placed(now), active.current, key);
    if (now === null || to === "") return false;
    active.current = to;
    chart.current?.mark(to);
    setSaid(lineOf(now, now.nodeAt(to)));
    return true;
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!isHandled(event.key, chart.current, active.current, choice, move)) return;
    event.preventDefault();
  };
  const title = `Nodes by ${topologyKey === "" ? "name" : topologyKey}, ${resource}`;
  return (
    <section class="map-picture" aria-label="Picture of the map">
      <Tones inks={inks} />
      <div
        class="map-window"
        role="application"
        aria-roledescription="map"
        aria-label={`Map of ${grouped(model.size)} nodes. Arrows move among them, Enter opens one, + and - zoom, 0 shows all.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it has keys of its own.
        tabIndex={0}
        onKeyDown={pressed}
      >
        <canvas ref={canvas} class="map-canvas" />
      </div>
      <p class="map-said small" role="status">
        {said}
      </p>
      <p class="actions">
        <button type="button" onClick={() => chart.current?.step(1)}>
          Closer
        </button>
        <button type="button" onClick={() => chart.current?.step(-1)}>
          Further away
        </button>
        <button type="button" onClick={() => chart.current?.fit()}>
          Show all
        </button>
        <CopyCommand command={storedCommand(ON_NODES, about.value)} />
        <button type="button" onClick={() => void copy(new URL(mapAddress(choice), window.location.href).href)}>
          Copy link
        </button>
        <button type="button" onClick={() => save("map", chart.current?.drawn())}>
          Save as JSON
        </button>
        <button type="button" onClick={storeSvg}>
          Save as SVG
        </button>
        <button type="button" onClick={() => void storePng()}>
          Save as PNG
        </button>
      </p>
      <Gangs level={level} lines={legend} choice={choice} resource={resource} inks={inks} />
    </section>
  );

  function storeSvg(): void {
    const drawn = chart.current?.drawn();
    if (drawn && inks !== null) saveSvg("map", svgOf(drawn, inks, title));
  }

  async function storePng(): Promise<void> {
    const drawn = chart.current?.drawn();
    const made = drawn && inks !== null ? await pngOf(drawn, inks) : null;
    if (made !== null) savePng("map", made);
  }
}

function isHandled(
  key: string,
  chart: Chart | null,
  active: string,
  choice: MapChoice,
  move: (key: string) => boolean,
): boolean {
  if (key === "+" || key === "=") chart?.step(1);
  else if (key === "-") chart?.step(-1);
  else if (key === "0") chart?.fit();
  else if (key === "Enter" && active !== "") choose({ ...choice, node: active });
  else if (key === "Escape" && choice.node !== "") choose({ ...choice, node: "" });
  else if (key === "Escape" && choice.gang !== "") choose({ ...choice, gang: "" });
  else return move(key);
  return true;
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, at) => name === other[at]);
}
