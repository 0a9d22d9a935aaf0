/** Which report is asked for: in the address of the view, in that of the server, and in the words of the command. */

export interface ReportQuestion {
  /** How far back, such as 7d. */
  readonly since: string;
  readonly by: string;
  /** Of the preemptors; empty: all. */
  readonly namespace: string;
  /** Such as `nvidia.com/gpu=2.5`. */
  readonly prices: readonly string[];
  /** The day whose decisions are listed; empty: all. */
  readonly day: string;
}

export const BY = ["day", "namespace", "priority", "gang"] as const;
export const USUAL: ReportQuestion = { since: "7d", by: "day", namespace: "", prices: [], day: "" };

export function readReportQuestion(query: string): ReportQuestion {
  const found = new URLSearchParams(query);
  return {
    since: found.get("since") || USUAL.since,
    by: found.get("by") || USUAL.by,
    namespace: found.get("namespace") ?? "",
    prices: found.getAll("price").filter((each) => each !== ""),
    day: found.get("day") ?? "",
  };
}

/** The address of the view. What is as usual is not in it. */
export function reportAddress(question: ReportQuestion = USUAL): string {
  const query = asked(question, "namespace");
  if (question.day !== "") query.set("day", question.day);
  const said = query.toString();
  return said === "" ? "#/report" : `#/report?${said}`;
}

/** The path of the server's answer. The parameter `namespace` of all paths says where somebody sees anything. */
export function reportPath(question: ReportQuestion): string {
  const said = asked(question, "preemptorNamespace").toString();
  return said === "" ? "report" : `report?${said}`;
}

function asked({ since, by, namespace, prices }: ReportQuestion, namespaceName: string): URLSearchParams {
  const query = new URLSearchParams();
  if (since !== USUAL.since) query.set("since", since);
  if (by !== USUAL.by) query.set("by", by);
  if (namespace !== "") query.set(namespaceName, namespace);
  for (const price of prices) query.append("price", price);
  return query;
}

/** The options of `reprieve report` that ask the same. */
export function reportOptions({ since, by, namespace, prices }: ReportQuestion): string[] {
  return [
    ...(since === USUAL.since ? [] : [`--since=${since}`]),
    ...(by === USUAL.by ? [] : [`--by=${by}`]),
    ...(namespace === "" ? [] : [`--namespace=${namespace}`]),
    ...prices.map((price) => `--price=${price}`),
  ];
}

/** Prices in a line of text: one after the other, with blanks or commas between. */
export function pricesIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((each) => each !== "");
}
