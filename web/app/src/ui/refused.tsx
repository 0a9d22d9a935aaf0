/** Why there is no answer. */

import type { Refusal } from "../client.ts";
import { Notice } from "./notices.tsx";
import { Said } from "./text.tsx";

const TITLES = new Map([
  [0, "The server does not answer."],
  [403, "You may not see this."],
  [404, "There is no such object."],
  [429, "Too many questions."],
  [503, "The server cannot answer now."],
]);

/** `hasOld`: an older answer is shown below. */
export function Refused({ refusal, hasOld }: { readonly refusal: Refusal; readonly hasOld: boolean }) {
  return (
    <Notice kind={refusal.status === 404 || refusal.status === 429 ? "warn" : "bad"} title={titleOf(refusal)}>
      <Said text={refusal.message} />
      {refusal.right !== "" && (
        <>
          {" "}
          The right that is missing: <Said text={refusal.right} />.
        </>
      )}
      {hasOld && " What is shown is older."}
    </Notice>
  );
}

function titleOf(refusal: Refusal): string {
  return TITLES.get(refusal.status) ?? "The server does not answer this.";
}
