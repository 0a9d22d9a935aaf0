/** What the map shows: blocks, resource, a search, and whether it is a picture or a table. */

import type { MapChoice } from "../../address.ts";
import type { Head } from "../../map/model.ts";
import { printable } from "../../printable.ts";
import { grouped } from "../../waiting.ts";
import { choose } from "./map.tsx";

interface Props {
  readonly head: Head;
  readonly choice: MapChoice;
  readonly search: string;
  readonly setSearch: (text: string) => void;
  /** How many nodes the search has found. */
  readonly found: number;
}

export function MapTools({ head, choice, search, setSearch, found }: Props) {
  const keys = head.topologyKeys.map(({ key, podGroups }) => [key, keyText(key, podGroups)] as const);
  const resources = head.resources.map((each) => [each, printable(each)] as const);
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="What the map shows">
      <label class="wide">
        <span>Find a node, a block or a gang</span>
        <input
          type="search"
          spellcheck={false}
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      </label>
      <Choice
        title="Blocks by"
        value={head.topologyKey}
        options={keys}
        onChange={(topologyKey) => choose({ ...choice, topologyKey })}
      />
      <Choice
        title="Resource"
        value={head.resource}
        options={resources}
        onChange={(resource) => choose({ ...choice, resource })}
      />
      <button
        type="button"
        class="low"
        aria-pressed={choice.isTable}
        onClick={() => choose({ ...choice, isTable: !choice.isTable })}
      >
        Map as table
      </button>
      <p class="quiet small low" role="status">
        {search.trim() !== "" && `${grouped(found)} ${found === 1 ? "node is" : "nodes are"} found.`}
      </p>
    </form>
  );
}

function keyText(key: string, podGroups: number): string {
  if (podGroups === 0) return printable(key);
  return `${printable(key)} (${grouped(podGroups)} ${podGroups === 1 ? "PodGroup" : "PodGroups"})`;
}

interface ChoiceProps {
  readonly title: string;
  readonly value: string;
  readonly options: readonly (readonly [string, string])[];
  readonly onChange: (value: string) => void;
}

function Choice({ title, value, options, onChange }: ChoiceProps) {
  const isKnown = options.some(([each]) => each === value);
  const all = isKnown ? options : [[value, printable(value)] as const, ...options];
  return (
    <label>
      <span>{title}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {all.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
