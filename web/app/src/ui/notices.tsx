/** What holds for all that is shown: the mode, pauses and limits, and whether it may be old. */

import type { ComponentChildren } from "preact";
import { about, isBehind, isPaused, link } from "../state.ts";
import type { Mode } from "../wire.ts";
import { Said, Time } from "./text.tsx";

export function Notices() {
  const mode = about.value?.mode;
  return (
    <section class="notices" aria-label="State of the cluster and of this page">
      {mode !== undefined && <ModeLine mode={mode} />}
      {mode?.pauses.map((each, at) => (
        <Notice key={at} kind="warn" title="Evictions are paused.">
          <Said text={each} />
        </Notice>
      ))}
      <div role="status">
        <LinkLine />
        <Old />
        {isPaused.value && (
          <Notice kind="info" title="Updates of this page are paused.">
            Evictions are not. {isBehind.value && "Something has changed since then."}
          </Notice>
        )}
      </div>
    </section>
  );
}

/** In which mode the cluster is, and what limits evictions. */
function ModeLine({ mode }: { readonly mode: Mode }) {
  if (mode.mode === "" && mode.sentence === "" && mode.limits.length === 0) return null;
  return (
    <p class="mode">
      {mode.mode !== "" && <strong class="chip">{mode.mode}</strong>}
      <span>
        <Said text={mode.sentence} />
      </span>
      {mode.limits.map((each, at) => (
        <span key={at}>
          <strong>Limit:</strong> <Said text={each} />
        </span>
      ))}
    </p>
  );
}

function LinkLine() {
  const now = link.value;
  if (now.state !== "lost") return null;
  return (
    <Notice kind="bad" title="The connection to the server is lost.">
      What is shown is from before <Time time={now.since} />. Next attempt: <Time time={now.retrying} />.
    </Notice>
  );
}

/** A watch stands, or the API server does not answer. */
function Old() {
  const trouble = about.value?.trouble ?? "";
  if (trouble === "") return null;
  return (
    <Notice kind="bad" title="What is shown may be old.">
      <Said text={trouble} />
    </Notice>
  );
}

interface NoticeProps {
  readonly kind: "info" | "warn" | "bad";
  readonly title: string;
  readonly children: ComponentChildren;
}

export function Notice({ kind, title, children }: NoticeProps) {
  return (
    <p class={`notice ${kind}`}>
      <strong>{title}</strong> {children}
    </p>
  );
}

/** Which rights would show more. */
export function Missing({ rights }: { readonly rights: readonly string[] }) {
  if (rights.length === 0) return null;
  return (
    <details class="missing">
      <summary>
        {rights.length === 1 ? "A right is missing" : `${rights.length} rights are missing`}: more would be shown here
      </summary>
      <ul>
        {rights.map((right) => (
          <li key={right}>
            <Said text={right} />
          </li>
        ))}
      </ul>
    </details>
  );
}
