/** What an account of quota holds, as a bar beside its words. The bar alone says nothing that the words do not. */

import { accountWords, barOf, type PartKind, pairOf } from "../queues.ts";
import type { Account } from "../wire.ts";
import { Said } from "./text.tsx";

const FILLS: Readonly<Record<PartKind, string>> = {
  used: "currentcolor",
  borrowed: "url(#quota-borrowed)",
  perhaps: "url(#quota-perhaps)",
  lent: "url(#quota-lent)",
};
const LEGEND: readonly (readonly [PartKind, string])[] = [
  ["used", "used of its own quota"],
  ["borrowed", "borrowed, beyond its own quota"],
  ["lent", "lent in any case"],
  ["perhaps", "lent perhaps: nobody knows whose quota is borrowed"],
];

/** The patterns of all bars of the view. They are drawn once. */
export function Patterns() {
  return (
    <svg class="unseen" width="0" height="0" aria-hidden="true">
      <defs>
        <pattern id="quota-borrowed" width="5" height="5" patternUnits="userSpaceOnUse" class="share borrowed">
          <path d="M1.5 0v5" stroke="currentcolor" stroke-width="2" />
        </pattern>
        <pattern id="quota-perhaps" width="6" height="6" patternUnits="userSpaceOnUse" class="share perhaps">
          <path d="M-1 1l2-2M0 6l6-6M5 7l2-2" stroke="currentcolor" stroke-width="1.2" />
        </pattern>
        <pattern id="quota-lent" width="6" height="6" patternUnits="userSpaceOnUse" class="share lent">
          <path d="M-1 1l2-2M0 6l6-6M5 7l2-2M-1 5l2 2M0 0l6 6M5-1l2 2" stroke="currentcolor" stroke-width="1.8" />
        </pattern>
      </defs>
    </svg>
  );
}

export function Legend() {
  return (
    <ul class="legend" aria-label="What the bars show">
      {LEGEND.map(([kind, text]) => (
        <li key={kind}>
          <svg class="swatch" width="22" height="12" aria-hidden="true">
            <rect class={`share ${kind}`} width="22" height="12" fill={FILLS[kind]} />
          </svg>
          {text}
        </li>
      ))}
      <li>
        <svg class="swatch" width="22" height="12" aria-hidden="true">
          <path class="end" d="M11 0v12" />
        </svg>
        where the quota ends
      </li>
    </ul>
  );
}

export function Accounts({ accounts }: { readonly accounts: readonly Account[] }) {
  return (
    <ul class="accounts">
      {accounts.map((account) => (
        <li key={pairOf(account)} class="account">
          <span class="pair">
            <Said text={account.resource} />{" "}
            <span class="quiet">
              in flavor <Said text={account.flavor} />
            </span>
          </span>
          <QuotaBar account={account} />
          <span class="words">
            <Said text={accountWords(account)} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Its words stand beside it, so it is hidden from those who cannot see it. */
function QuotaBar({ account }: { readonly account: Account }) {
  const { parts, quota } = barOf(account);
  return (
    <svg class="bar" width="100%" height="16" aria-hidden="true">
      {parts.map(({ kind, from, to }) => (
        <rect
          key={kind}
          class={`share ${kind}`}
          x={percent(from)}
          width={percent(to - from)}
          height="16"
          fill={FILLS[kind]}
        />
      ))}
      {quota !== null && <line class="end" x1={percent(quota)} x2={percent(quota)} y1="0" y2="16" />}
    </svg>
  );
}

function percent(share: number): string {
  return `${Math.round(share * 10_000) / 100}%`;
}
