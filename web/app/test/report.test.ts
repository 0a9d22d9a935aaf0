import assert from "node:assert/strict";
import { test } from "node:test";
import { readRoute } from "../src/address.ts";
import { barsSvg, inXml } from "../src/bars.ts";
import { command } from "../src/command.ts";
import { decisionsOf, longest, seconds, victimsOf, waitsOf } from "../src/report.ts";
import {
  pricesIn,
  readReportQuestion,
  reportAddress,
  reportOptions,
  reportPath,
  USUAL,
} from "../src/report_question.ts";
import type { DearDecision, Report, ReportRow } from "../src/wire.ts";

const ASKED = {
  since: "30d",
  by: "gang",
  namespace: "team-b",
  prices: ["nvidia.com/gpu=2.5", "cpu=0.04"],
  day: "2026-11-24",
};

function row(name: string, pods: number, servedNobody: number, ours: number): ReportRow {
  const scheduler = {
    pods,
    servedNobody,
    groupsBroken: 0,
    inPieces: 0,
    inPiecesSeconds: 0,
    bound: 0,
    medianSecondsUntilBound: null,
  };
  const costs = {
    servedNobody: {},
    idleRemainders: {},
    heldInPieces: {},
    victims: {},
    ours: {},
    beyondOurs: {},
    unknown: 0,
    unknownOurs: 0,
  };
  return { name, decisions: 1, compared: 1, ours: { pods: ours }, scheduler, unattributed: 0, costs };
}

test("an address has all of the question, and nothing that is as usual", () => {
  assert.equal(reportAddress(), "#/report");
  assert.deepEqual(readRoute("#/report"), { view: "report", question: USUAL });
  const address = reportAddress(ASKED);
  assert.deepEqual(readRoute(address), { view: "report", question: ASKED });
  assert.deepEqual(readReportQuestion(address.split("?")[1] ?? ""), ASKED);
});

test("the server is asked about everything but the day", () => {
  assert.equal(reportPath(USUAL), "report");
  const asked = "since=30d&by=gang&preemptorNamespace=team-b&price=nvidia.com%2Fgpu%3D2.5&price=cpu%3D0.04";
  assert.equal(reportPath(ASKED), `report?${asked}`);
  assert.equal(reportPath({ ...ASKED, day: "" }), reportPath(ASKED));
});

test("the command asks the same", () => {
  assert.equal(command("report", reportOptions(USUAL), "--context a"), "reprieve report --context a");
  assert.equal(
    command("report", reportOptions({ ...ASKED, namespace: "a b" }), ""),
    "reprieve report --since=30d --by=gang '--namespace=a b' --price=nvidia.com/gpu=2.5 --price=cpu=0.04",
  );
});

test("prices stand one after the other", () => {
  assert.deepEqual(pricesIn(" cpu=1,  memory=2\tnvidia.com/gpu=3 "), ["cpu=1", "memory=2", "nvidia.com/gpu=3"]);
  assert.deepEqual(pricesIn("  "), []);
});

test("the bars of a row are those of the scheduler, and ours", () => {
  const found = victimsOf(row("team-a", 5, 2, 7));
  assert.deepEqual(found.bars, [
    [
      { kind: "nobody", number: 2 },
      { kind: "others", number: 3 },
    ],
    [{ kind: "ours", number: 7 }],
  ]);
  assert.equal(longest([found, victimsOf(row("b", 9, 0, 1))]), 9);
  assert.equal(longest([]), 0);
});

test("waits are bars, too", () => {
  const report = { waits: [{ name: "not bound", decisions: 3 }] } as unknown as Report;
  assert.deepEqual(waitsOf(report)[0]?.bars, [[{ kind: "others", number: 3 }]]);
});

test("seconds that are not known are empty", () => {
  assert.equal(seconds(null), "");
  assert.equal(seconds(61.5), "62");
});

test("decisions without a name have no day", () => {
  const of = (decided: string): DearDecision => ({ decided }) as unknown as DearDecision;
  const report = { dearest: [of("2026-11-24T01:00:00Z"), of("2026-11-25T01:00:00Z"), of("")] } as unknown as Report;
  assert.equal(decisionsOf(report, "").length, 3);
  assert.deepEqual(decisionsOf(report, "2026-11-24"), [of("2026-11-24T01:00:00Z")]);
});

test("a picture has every name whole, and none is markup", () => {
  const name = `<script>alert("&")</script>${"x".repeat(60)}`;
  const picture = barsSvg("By <day>", "key", [victimsOf(row(name, 0, 0, 0)), victimsOf(row("\u202egnp", 4, 1, 2))]);
  assert.equal(picture.includes("<script"), false);
  assert.equal(picture.includes("\u202e"), false);
  const shown = [...picture.matchAll(/<text x="0"[^>]*>([^<]*)</g)].map((each) => each[1] ?? "").join("");
  assert.equal(shown.includes(inXml(name).slice(0, 20)), true);
  assert.equal(shown.endsWith("\\u202egnp"), true);
  assert.equal(picture.includes("NaN"), false);
  assert.equal(picture.includes('width="0.00"'), false);
});
