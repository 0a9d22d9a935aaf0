/** The bar above all views. */

import {
  DOCTOR,
  historyAddress,
  mapAddress,
  plansAddress,
  queuesAddress,
  waitingAddress,
  whatIfAddress,
} from "../address.ts";
import { reportAddress } from "../report_question.ts";
import { about, isPaused, link, logOut, pauseUpdates, route } from "../state.ts";
import { changeTheme, type Theme, theme } from "../theme.ts";
import { helpIsOpen } from "./help.tsx";
import { SearchBox } from "./search.tsx";
import { Said } from "./text.tsx";

const THEMES: Readonly<Record<Theme, string>> = { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" };

export function TopBar() {
  const here = about.value;
  if (here === null) return null;
  return (
    <header class="top">
      <a class="brand" href={waitingAddress()}>
        reprieve
      </a>
      <nav aria-label="Views">
        <a href={mapAddress()} aria-current={route.value.view === "map" ? "page" : undefined}>
          Map
        </a>
        <a href={waitingAddress()} aria-current={route.value.view === "waiting" ? "page" : undefined}>
          Waiting
        </a>
        <a href={plansAddress()} aria-current={route.value.view === "plans" ? "page" : undefined}>
          Plans
        </a>
        <a href={queuesAddress()} aria-current={route.value.view === "queues" ? "page" : undefined}>
          Queues
        </a>
        <a href={whatIfAddress()} aria-current={route.value.view === "what-if" ? "page" : undefined}>
          What if
        </a>
        <a href={historyAddress()} aria-current={route.value.view === "history" ? "page" : undefined}>
          History
        </a>
        <a href={reportAddress()} aria-current={route.value.view === "report" ? "page" : undefined}>
          Report
        </a>
        <a href={DOCTOR} aria-current={route.value.view === "doctor" ? "page" : undefined}>
          Doctor
        </a>
      </nav>
      <SearchBox />
      <p class="where">
        <span class="unseen">Cluster: </span>
        <span class="cluster">
          <Said text={here.cluster} />
        </span>
        <Freshness isLive={here.live} />
      </p>
      <p class="tools">
        {here.live && (
          <button
            type="button"
            aria-pressed={isPaused.value}
            onClick={pauseUpdates}
            title="Pause updates of this page (it pauses no evictions)"
          >
            {isPaused.value ? "Resume updates" : "Pause updates"}
          </button>
        )}
        <button type="button" onClick={changeTheme}>
          {THEMES[theme.value]}
        </button>
        <button type="button" onClick={openHelp} aria-keyshortcuts="?">
          Help
        </button>
        <button type="button" onClick={() => void logOut()} title={`Logged in as ${here.user}`}>
          Log out
        </button>
      </p>
    </header>
  );
}

function openHelp(): void {
  helpIsOpen.value = true;
}

function Freshness({ isLive }: { readonly isLive: boolean }) {
  const state = link.value.state;
  if (state === "lost") return <span class="fresh bad">lost</span>;
  if (!isLive) return <span class="fresh">files, which stand still</span>;
  if (isPaused.value) return <span class="fresh">paused</span>;
  return <span class="fresh">{state === "open" ? "live" : "connecting…"}</span>;
}
