/** What each panel gives away: the command that prints the same, its link, and files. */

import { copy, save } from "../files.ts";

interface Props {
  /** Empty if no command prints it. */
  readonly command: string;
  /** Its link, as `#/…`. */
  readonly address: string;
  /** Of the file. */
  readonly name: string;
  readonly value: unknown;
  readonly saveSvg?: () => void;
}

export function PanelActions({ command, address, name, value, saveSvg }: Props) {
  const link = (): string => new URL(address, window.location.href).href;
  return (
    <p class="actions">
      <CopyCommand command={command} />
      <button type="button" onClick={() => void copy(link())}>
        Copy link
      </button>
      <button type="button" onClick={() => save(name, value)}>
        Save as JSON
      </button>
      {saveSvg !== undefined && (
        <button type="button" onClick={saveSvg}>
          Save as SVG
        </button>
      )}
    </p>
  );
}

/** Nothing if there is no command. */
export function CopyCommand({ command }: { readonly command: string }) {
  if (command === "") return null;
  return (
    <button type="button" onClick={() => void copy(command)} title={command}>
      Copy as command
    </button>
  );
}
