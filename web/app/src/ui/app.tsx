/** The frame of all views. */

import type { Route } from "../address.ts";
import { waitingAddress } from "../address.ts";
import { reportPath } from "../report_question.ts";
import { about, entry, route, said } from "../state.ts";
import { Answering } from "./answering.tsx";
import { DoctorView } from "./doctor.tsx";
import { EvictedView } from "./evicted.tsx";
import { Help, helpIsOpen } from "./help.tsx";
import { HistoryView } from "./history.tsx";
import { useKeys } from "./keys.ts";
import { Login } from "./login.tsx";
import { MapView } from "./map/map.tsx";
import { Notices } from "./notices.tsx";
import { PlanView } from "./plan.tsx";
import { PlansView } from "./plans.tsx";
import { QueueView } from "./queue.tsx";
import { QueuesView } from "./queues.tsx";
import { ReportView } from "./report.tsx";
import { Said } from "./text.tsx";
import { useTitle } from "./title.ts";
import { TopBar } from "./top_bar.tsx";
import { WaitingView } from "./waiting.tsx";
import { WhatIfView } from "./what_if.tsx";

export function App() {
  useKeys();
  const here = entry.value;
  return (
    <>
      {here.state === "looking" && <p class="looking">Looking for a session…</p>}
      {here.state === "out" && <Login why={here.why} />}
      {here.state === "in" && about.value !== null && <Page />}
      {helpIsOpen.value && <Help />}
      <p class="toast" role="status">
        {said.value}
      </p>
    </>
  );
}

function Page() {
  return (
    <>
      <button type="button" class="skip" onClick={toMain}>
        Skip to the content
      </button>
      <TopBar />
      <Notices />
      <main id="main" tabIndex={-1}>
        <View route={route.value} />
      </main>
    </>
  );
}

/** It is no link, since the address of a view stands behind the `#`. */
function toMain(): void {
  document.getElementById("main")?.focus();
}

function View({ route: shown }: { readonly route: Route }) {
  if (shown.view === "map") {
    const { topologyKey, resource } = shown.choice;
    return <MapView key={JSON.stringify([topologyKey, resource])} choice={shown.choice} />;
  }
  if (shown.view === "waiting") return <WaitingView filters={shown.filters} />;
  if (shown.view === "answer") {
    const { kind, namespace, name } = shown;
    return <Answering key={JSON.stringify([kind, namespace, name])} kind={kind} namespace={namespace} name={name} />;
  }
  if (shown.view === "plans") return <PlansView filters={shown.filters} />;
  if (shown.view === "plan") {
    const { namespace, name } = shown;
    return <PlanView key={JSON.stringify([namespace, name])} namespace={namespace} name={name} />;
  }
  if (shown.view === "queues") return <QueuesView pair={shown.pair} />;
  if (shown.view === "what-if") return <WhatIfView />;
  if (shown.view === "queue") {
    const { namespace, name } = shown;
    return <QueueView key={JSON.stringify([namespace, name])} namespace={namespace} name={name} />;
  }
  if (shown.view === "history") return <HistoryView by={shown.by} />;
  if (shown.view === "evicted") {
    const { namespace, name } = shown;
    return <EvictedView key={JSON.stringify([namespace, name])} namespace={namespace} name={name} />;
  }
  if (shown.view === "report") {
    return <ReportView key={reportPath(shown.question)} question={shown.question} />;
  }
  if (shown.view === "doctor") return <DoctorView />;
  return <Unknown address={shown.address} />;
}

function Unknown({ address }: { readonly address: string }) {
  const title = useTitle("Unknown address");
  return (
    <>
      <h1 ref={title} tabIndex={-1}>
        There is no view at this address
      </h1>
      <p>
        <code>
          <Said text={address} />
        </code>
      </p>
      <p>
        <a href={waitingAddress()}>What waits</a>
      </p>
    </>
  );
}
