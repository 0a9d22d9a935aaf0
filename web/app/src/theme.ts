/** Light or dark: by the system, or by choice. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "reprieve.theme";
const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };

function stored(): Theme {
  const found = window.localStorage.getItem(KEY);
  return found === "light" || found === "dark" ? found : "system";
}

export const theme = signal<Theme>(stored());

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

/** The next one of system, light and dark. */
export function changeTheme(): void {
  theme.value = NEXT[theme.value];
  window.localStorage.setItem(KEY, theme.value);
}
