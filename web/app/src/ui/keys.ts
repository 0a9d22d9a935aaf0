/** The keys that work in every view. */

import { useEffect } from "preact/hooks";
import { historyAddress, plansAddress, type Route, waitingAddress } from "../address.ts";
import { entry, route } from "../state.ts";
import { helpIsOpen } from "./help.tsx";

export const SEARCH_ID = "search";

/** `/` searches, `?` helps, Esc goes back to the list. */
export function useKeys(): void {
  useEffect(() => {
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
}

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (helpIsOpen.value || entry.value.state !== "in") return;
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById(SEARCH_ID)?.focus();
  } else if (event.key === "?") {
    event.preventDefault();
    helpIsOpen.value = true;
  } else if (event.key === "Escape" && route.value.view !== "waiting") {
    window.location.hash = listOf(route.value);
  }
}

/** The list that a view belongs to. */
function listOf(shown: Route): string {
  if (shown.view === "plan") return plansAddress();
  return shown.view === "evicted" ? historyAddress() : waitingAddress();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}
