/** Search for an object by its name (a combobox with a list of what is found). */

import { useEffect, useRef, useState } from "preact/hooks";
import { foundAddress } from "../address.ts";
import { Refusal } from "../client.ts";
import { answer } from "../state.ts";
import { kindName } from "../waiting.ts";
import type { Found, FoundObject } from "../wire.ts";
import { SEARCH_ID } from "./keys.ts";
import { ObjectName, Said } from "./text.tsx";

const LIST_ID = "found";
const PATIENCE_MS = 200;
const NOTHING: Found = { found: [], more: false };

export function SearchBox() {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const { search, problem } = useSearch(text.trim());
  const isOpen = text.trim() !== "";
  const close = (): void => {
    setText("");
    setChosen(0);
  };
  const open = (found: FoundObject | undefined): void => {
    if (found === undefined) return;
    window.location.hash = foundAddress(found.kind, found.namespace, found.name);
    close();
    document.getElementById(SEARCH_ID)?.blur();
  };
  const pressed = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) setChosen(within(chosen + step, search.found.length));
    else if (event.key === "Enter") open(search.found[chosen]);
    else if (event.key === "Escape") {
      if (!isOpen) document.getElementById(SEARCH_ID)?.blur();
      close();
    } else return;
    event.preventDefault();
  };
  return (
    <search class="search">
      <label class="unseen" for={SEARCH_ID}>
        Search for an object by its name
      </label>
      <input
        id={SEARCH_ID}
        type="search"
        role="combobox"
        list={undefined}
        autoComplete="off"
        spellcheck={false}
        placeholder="Search  /"
        aria-expanded={isOpen}
        aria-controls={LIST_ID}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && search.found.length > 0 ? `${LIST_ID}-${chosen}` : undefined}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={pressed}
        onBlur={close}
      />
      <div class="found" hidden={!isOpen}>
        <div id={LIST_ID} role="listbox" aria-label="Objects that are found">
          {search.found.map((each, at) => (
            <FoundLine
              key={`${each.kind}/${each.namespace}/${each.name}`}
              found={each}
              at={at}
              chosen={chosen}
              open={open}
            />
          ))}
        </div>
        <p class="quiet" role="status">
          {isOpen ? saidOf(search, problem) : ""}
        </p>
      </div>
    </search>
  );
}

interface LineProps {
  readonly found: FoundObject;
  readonly at: number;
  readonly chosen: number;
  readonly open: (found: FoundObject) => void;
}

function FoundLine({ found, at, chosen, open }: LineProps) {
  return (
    <div
      id={`${LIST_ID}-${at}`}
      role="option"
      aria-selected={at === chosen}
      onMouseDown={(event) => {
        event.preventDefault();
        open(found);
      }}
    >
      <span class="quiet">{kindName(found.kind)}</span> <FoundName found={found} />
    </div>
  );
}

/** ClusterQueues and nodes have no namespace. */
function FoundName({ found }: { readonly found: FoundObject }) {
  if (found.namespace === "") return <Said text={found.name} />;
  return <ObjectName namespace={found.namespace} name={found.name} />;
}

function saidOf(search: Found, problem: string): string {
  if (problem !== "") return problem;
  if (search === NOTHING) return "Searching…";
  if (search.found.length === 0) return "Nothing has such a name.";
  return search.more ? "There are more. Type more of the name." : "";
}

function within(at: number, count: number): number {
  return count === 0 ? 0 : (at + count) % count;
}

/** What is found, a short time after the last letter. */
function useSearch(text: string): { readonly search: Found; readonly problem: string } {
  const [search, setSearch] = useState<Found>(NOTHING);
  const [problem, setProblem] = useState("");
  const newest = useRef("");
  newest.current = text;
  useEffect(() => {
    setProblem("");
    setSearch(NOTHING);
    if (text === "") return;
    const look = async (): Promise<void> => {
      try {
        const found = await answer<Found>(`search?q=${encodeURIComponent(text)}`);
        if (newest.current === text) setSearch(found);
      } catch (cause) {
        if (!(cause instanceof Refusal)) throw cause;
        if (newest.current === text) setProblem(cause.message);
      }
    };
    const timer = setTimeout(() => void look(), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return { search, problem };
}
