/** A choice of one of several values, as filters have it. */

import { printable } from "../printable.ts";
import { grouped } from "../waiting.ts";

export type Options = readonly (readonly [string, string])[];

/** All, what is chosen, and what occurs, with how often it does. */
export function optionsOf(all: string, chosen: string, found: ReadonlyMap<string, number>): Options {
  const occurring = [...found].map(([name, count]) => [name, `${printable(name)} (${grouped(count)})`] as const);
  const gone = chosen === "" || found.has(chosen) ? [] : [[chosen, `${printable(chosen)} (0)`] as const];
  return [["", all], ...gone, ...occurring];
}

interface ChoiceProps {
  readonly title: string;
  readonly value: string;
  readonly options: Options;
  readonly onChange: (value: string) => void;
}

export function Choice({ title, value, options, onChange }: ChoiceProps) {
  return (
    <label>
      <span>{title}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
