/** Which namespaces one sees who may not list in all of them. */

import { useState } from "preact/hooks";
import { namespaceQuery, namespacesOf } from "../address.ts";
import { about, asked } from "../state.ts";

const MOST = 20;

export function NamespaceForm() {
  const [text, setText] = useState(asked.join(", "));
  const seen = about.value?.namespaces;
  if (seen === undefined || seen.all) return null;
  const show = (event: Event): void => {
    event.preventDefault();
    const query = namespaceQuery(namespacesOf(`?namespace=${encodeURIComponent(text)}`));
    window.location.assign(`${window.location.pathname}${query}${window.location.hash}`);
  };
  return (
    <form class="filters" onSubmit={show} aria-label="Namespaces">
      <label class="wide">
        <span>You may not list pods in all namespaces. Name up to {MOST}, with commas between them:</span>
        <input value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="submit">Show these namespaces</button>
    </form>
  );
}
