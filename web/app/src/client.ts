/** Requests to the server of this page. */

import type { Fault } from "./wire.ts";

/** A refusal of the server, or a request that got no answer (status 0). */
export class Refusal extends Error {
  readonly status: number;
  readonly reason: string;
  /** The right that is missing; empty if none is. */
  readonly right: string;
  /** In how many seconds it may be asked again; 0 if the server does not say. */
  readonly retryAfter: number;

  constructor(status: number, problem: Fault, retryAfter = 0) {
    super(problem.message);
    this.status = status;
    this.reason = problem.reason;
    this.right = problem.right;
    this.retryAfter = retryAfter;
  }
}

const UNREACHABLE: Fault = {
  reason: "Unreachable",
  message: "The server of this page does not answer.",
  right: "",
};

export interface Request {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: unknown;
  /** A body that is sent as it is. */
  readonly text?: string;
  readonly session?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The response of the server. Raises Refusal if it refuses, or does not answer. */
export async function send(path: string, request: Request = {}): Promise<Response> {
  const headers = new Headers(request.headers);
  if (request.session) headers.set("Authorization", `Bearer ${request.session}`);
  if (request.body !== undefined) headers.set("Content-Type", "application/json");
  const response = await fetch(`api/v1/${path}`, {
    method: request.method ?? "GET",
    headers,
    body: request.body === undefined ? (request.text ?? null) : JSON.stringify(request.body),
    signal: request.signal ?? null,
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  }).catch((cause: unknown) => {
    if (request.signal?.aborted) throw cause;
    throw new Refusal(0, UNREACHABLE);
  });
  if (!response.ok) throw await refusalOf(response);
  return response;
}

/** The answer of the server as a value. */
export async function ask<T>(path: string, request: Request = {}): Promise<T> {
  const response = await send(path, request);
  return (await response.json()) as T;
}

/** The path of an answer of `why`. */
export function whyPath(kind: string, namespace: string, name: string): string {
  return `why/${kind}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** The path of the answer about a queue. `namespace`: of a LocalQueue; empty for a ClusterQueue. */
export function queuePath(namespace: string, name: string): string {
  return ["queues", ...(namespace === "" ? [] : [namespace]), name].map(encodeURIComponent).join("/");
}

/** The path of one node. */
export function nodePath(name: string): string {
  return `nodes/${encodeURIComponent(name)}`;
}

/** The path of an answer about one plan. */
export function planPath(namespace: string, name: string): string {
  return `plans/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** The path of the plans for one preemptor. */
export function plansForPath(kind: string, namespace: string, name: string): string {
  return `plans?preemptor=${encodeURIComponent(`${kind}/${namespace}/${name}`)}`;
}

/** The path of the answer who evicted an object. */
export function evictedPath(namespace: string, name: string): string {
  return `who-evicted/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** The path with the namespaces that are asked about; all that one may see if there are none. */
export function within(path: string, namespaces: readonly string[]): string {
  if (namespaces.length === 0) return path;
  return `${path}${path.includes("?") ? "&" : "?"}namespace=${namespaces.map(encodeURIComponent).join(",")}`;
}

async function refusalOf(response: Response): Promise<Refusal> {
  const wait = Number(response.headers.get("Retry-After") ?? 0) || 0;
  const said: unknown = await response.json().catch(() => null);
  return new Refusal(response.status, isProblem(said) ? said : unknown(response.status), wait);
}

function isProblem(said: unknown): said is Fault {
  return typeof said === "object" && said !== null && "reason" in said && "message" in said;
}

function unknown(status: number): Fault {
  return { reason: "Unknown", message: `The server of this page answers with status ${status}.`, right: "" };
}
