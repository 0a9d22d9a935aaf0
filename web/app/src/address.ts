/** The addresses of the views: what stands behind the `#`. */

import type { By } from "./history.ts";
import { type ReportQuestion, readReportQuestion } from "./report_question.ts";
import type { Answer, FoundObject } from "./wire.ts";

type FoundKind = FoundObject["kind"];
/** The kinds of objects that have an answer, as the command has them. */
export type Kind = Lowercase<Answer["kind"]>;

export type Route =
  | { readonly view: "map"; readonly choice: MapChoice }
  | { readonly view: "waiting"; readonly filters: Filters }
  | { readonly view: "answer"; readonly kind: Kind; readonly namespace: string; readonly name: string }
  | { readonly view: "plans"; readonly filters: PlanFilters }
  | { readonly view: "plan"; readonly namespace: string; readonly name: string }
  | { readonly view: "queues"; readonly pair: string }
  | { readonly view: "queue"; readonly namespace: string; readonly name: string }
  | { readonly view: "what-if" }
  | { readonly view: "history"; readonly by: By }
  | { readonly view: "evicted"; readonly namespace: string; readonly name: string }
  | { readonly view: "report"; readonly question: ReportQuestion }
  | { readonly view: "doctor" }
  | { readonly view: "unknown"; readonly address: string };

/** What the map shows. Empty: the usual label and resource, no gang and no node. */
export interface MapChoice {
  readonly topologyKey: string;
  readonly resource: string;
  /** NAMESPACE/NAME of the gang that is brought out. */
  readonly gang: string;
  /** The node whose panel is open. */
  readonly node: string;
  readonly isTable: boolean;
}

export const USUAL_MAP: MapChoice = { topologyKey: "", resource: "", gang: "", node: "", isTable: false };

/** What the list of Waiting is narrowed to. Empty: everything. */
export interface Filters {
  readonly kind: string;
  readonly namespace: string;
  readonly state: string;
  readonly text: string;
}

/** What the list of plans is narrowed to. Empty: everything. */
export interface PlanFilters {
  readonly standing: string;
  readonly namespace: string;
  readonly plane: string;
  readonly text: string;
}

export const ALL_PLANS: PlanFilters = { standing: "", namespace: "", plane: "", text: "" };

export const NO_FILTERS: Filters = { kind: "", namespace: "", state: "", text: "" };

const KINDS = new Map<string, Kind>([
  ["gang", "podgroup"],
  ["pod", "pod"],
  ["job", "job"],
  ["workload", "workload"],
]);
const LINKS = new Map([...KINDS].map(([link, kind]) => [kind, link]));
const CODE = "#code=";

/** The view that an address means. */
export function readRoute(hash: string): Route {
  const [path = "", query = ""] = halves(hash.replace(/^#?\/?/, ""), "?");
  if (path === "" || path === "waiting") return { view: "waiting", filters: readFilters(query) };
  if (path === "map") return { view: "map", choice: readChoice(query) };
  if (path === "plans") return { view: "plans", filters: readPlanFilters(query) };
  if (path === "queues") return { view: "queues", pair: new URLSearchParams(query).get("pair") ?? "" };
  if (path === "what-if") return { view: "what-if" };
  if (path === "report") return { view: "report", question: readReportQuestion(query) };
  if (path === "doctor") return { view: "doctor" };
  if (path === "history") return { view: "history", by: readBy(query) };
  return readQueue(path) ?? readObject(path) ?? { view: "unknown", address: hash };
}

/** The view of one object; null if the path means none. */
function readObject(path: string): Route | null {
  const [link = "", ...names] = path.split("/");
  if (names.length !== 2 || names.includes("")) return null;
  try {
    const [namespace = "", name = ""] = names.map(decodeURIComponent);
    if (link === "plan" || link === "evicted") return { view: link, namespace, name };
    const kind = KINDS.get(link);
    return kind === undefined ? null : { view: "answer", kind, namespace, name };
  } catch {
    return null;
  }
}

/** The view of a queue; null for an address of something else. */
function readQueue(path: string): Route | null {
  const [link, first = "", second, ...more] = path.split("/");
  if (link !== "queue" || first === "" || second === "" || more.length > 0) return null;
  try {
    const [namespace, name] = second === undefined ? ["", first] : [first, second];
    return { view: "queue", namespace: decodeURIComponent(namespace), name: decodeURIComponent(name) };
  } catch {
    return null;
  }
}

function readBy(query: string): By {
  const by = new URLSearchParams(query).get("by");
  return by === "rule" || by === "vain" ? by : "namespace";
}

function readPlanFilters(query: string): PlanFilters {
  const found = new URLSearchParams(query);
  return {
    standing: found.get("standing") ?? "",
    namespace: found.get("namespace") ?? "",
    plane: found.get("plane") ?? "",
    text: found.get("text") ?? "",
  };
}

function readFilters(query: string): Filters {
  const found = new URLSearchParams(query);
  return {
    kind: found.get("kind") ?? "",
    namespace: found.get("namespace") ?? "",
    state: found.get("state") ?? "",
    text: found.get("text") ?? "",
  };
}

/** The address of the list, narrowed. */
export function waitingAddress(filters: Filters = NO_FILTERS): string {
  const { kind, namespace, state, text } = filters;
  return addressOf("#/waiting", { kind, namespace, state, text });
}

function addressOf(view: string, parts: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== "")).toString();
  return query === "" ? view : `${view}?${query}`;
}

function readChoice(query: string): MapChoice {
  const found = new URLSearchParams(query);
  return {
    topologyKey: found.get("topologyKey") ?? "",
    resource: found.get("resource") ?? "",
    gang: found.get("gang") ?? "",
    node: found.get("node") ?? "",
    isTable: found.get("as") === "table",
  };
}

/** The address of the map. */
export function mapAddress(choice: MapChoice = USUAL_MAP): string {
  const { topologyKey, resource, gang, node, isTable } = choice;
  return addressOf("#/map", { topologyKey, resource, gang, node, as: isTable ? "table" : "" });
}

/** The address of the list of plans, narrowed. */
export function plansAddress(filters: PlanFilters = ALL_PLANS): string {
  const { standing, namespace, plane, text } = filters;
  return addressOf("#/plans", { standing, namespace, plane, text });
}

/** The address of a plan. */
export function planAddress(namespace: string, name: string): string {
  return `#/plan/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** The address of evictions in time. */
export function historyAddress(by: By = "namespace"): string {
  return addressOf("#/history", { by: by === "namespace" ? "" : by });
}

/** The address of who evicted an object. */
export function evictedAddress(namespace: string, name: string): string {
  return `#/evicted/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** The address of the answer for an object. */
export function answerAddress(kind: Kind, namespace: string, name: string): string {
  return `#/${LINKS.get(kind)}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** The address of all queues. `pair`: the flavor and resource that are shown; empty for all. */
export function queuesAddress(pair = ""): string {
  return pair === "" ? "#/queues" : `#/queues?${new URLSearchParams({ pair }).toString()}`;
}

/** The address of a ClusterQueue, or of a LocalQueue if there is a namespace. */
export function queueAddress(namespace: string, name: string): string {
  return `#/queue/${[namespace, name].filter(Boolean).map(encodeURIComponent).join("/")}`;
}

/** The address of What if. What one has pasted is not in it. */
export function whatIfAddress(): string {
  return "#/what-if";
}

/** The address of the view of something that was found. */
export function foundAddress(kind: FoundKind, namespace: string, name: string): string {
  if (kind === "clusterqueue" || kind === "localqueue") return queueAddress(namespace, name);
  if (kind === "preemptionplan" || kind === "dispatchplan") return planAddress(namespace, name);
  if (kind === "node") return mapAddress({ ...USUAL_MAP, node: name });
  return answerAddress(kind, namespace, name);
}

export const DOCTOR = "#/doctor";

/** The kind of an object in small letters, as the command and the addresses have it. */
export function kindOf(kind: string): Kind {
  const small = kind.toLowerCase();
  return small === "podgroup" || small === "pod" || small === "job" ? small : "workload";
}

/** NAMESPACE/NAME in two parts. A name of a group of another kind may have slashes of its own. */
export function halves(text: string, at: string): [string, string] {
  const place = text.indexOf(at);
  return place < 0 ? [text, ""] : [text.slice(0, place), text.slice(place + at.length)];
}

/** The namespaces that the address names before the `#`: those that somebody sees who may not list in all of them. */
export function namespacesOf(search: string): string[] {
  const named = new URLSearchParams(search).get("namespace") ?? "";
  return named
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

/** The part of the address before the `#` that names these namespaces. */
export function namespaceQuery(namespaces: readonly string[]): string {
  return namespaces.length === 0 ? "" : `?namespace=${namespaces.map(encodeURIComponent).join(",")}`;
}

interface Where {
  readonly hash: string;
  readonly pathname: string;
  readonly search: string;
}

interface Past {
  replaceState(data: unknown, unused: string, url: string): void;
}

/** The code of the address, which is taken out of address and history at once; empty if it has none. */
export function takeCode(where: Where, past: Past): string {
  if (!where.hash.startsWith(CODE)) return "";
  const code = where.hash.slice(CODE.length);
  past.replaceState(null, "", `${where.pathname}${where.search}#/waiting`);
  return code;
}
