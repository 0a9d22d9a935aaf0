/** Texts of others: nothing in them moves or hides what stands beside them. */

import { Fragment } from "preact";
import { camelParts, printable } from "../printable.ts";
import { utc } from "../times.ts";

/** A text that comes from the cluster. */
export function Said({ text }: { readonly text: string }) {
  return <bdi>{printable(text)}</bdi>;
}

/** NAMESPACE/NAME. */
export function ObjectName({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  return (
    <span class="name">
      <bdi class="quiet">{printable(namespace)}</bdi>
      <span class="quiet">/</span>
      <bdi class="own">{printable(name)}</bdi>
    </span>
  );
}

/** A word in CamelCase, which may break between its parts. */
export function Word({ text }: { readonly text: string }) {
  return (
    <bdi>
      {camelParts(printable(text)).map((part, at) => (
        <Fragment key={at}>
          {at > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </bdi>
  );
}

/** Where an object stands. A sign says who waits, and not the colour alone. */
export function State({ state, waits }: { readonly state: string; readonly waits: boolean }) {
  return (
    <span class={waits ? "state waits" : "state done"}>
      <svg class="sign" viewBox="0 0 12 12" aria-hidden="true">
        {waits ? <path d="M3 1h6M3 11h6M4 1c0 5 4 5 4 10M8 1c0 5-4 5-4 10" /> : <path d="M2 6.5 5 9.5 10 3" />}
      </svg>
      <span class="unseen">{waits ? "It waits: " : "It does not wait: "}</span>
      <Word text={state} />
    </span>
  );
}

/** A time in UTC. */
export function Time({ time }: { readonly time: string }) {
  return <time dateTime={printable(time)}>{printable(utc(time))}</time>;
}
