/** Quantities of Kubernetes as numbers, for pictures. Texts show them as they are written. */

const FORM = /^([+-]?[0-9.]+)([a-zA-Z]*)$/;
const EXPONENT = /^[+-]?[0-9.]+[eE][+-]?[0-9]+$/;
const FACTORS = new Map([
  ["", 1],
  ["n", 1e-9],
  ["u", 1e-6],
  ["m", 1e-3],
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
  ["T", 1e12],
  ["P", 1e15],
  ["E", 1e18],
  ["Ki", 2 ** 10],
  ["Mi", 2 ** 20],
  ["Gi", 2 ** 30],
  ["Ti", 2 ** 40],
  ["Pi", 2 ** 50],
  ["Ei", 2 ** 60],
]);

/** The amount; infinite for `unlimited`, and 0 for what is no quantity. */
export function amountOf(text: string): number {
  if (text === "unlimited") return Number.POSITIVE_INFINITY;
  if (EXPONENT.test(text)) return Number(text);
  const [, digits = "", suffix = ""] = FORM.exec(text) ?? [];
  const amount = Number(digits) * (FACTORS.get(suffix) ?? Number.NaN);
  return Number.isFinite(amount) ? amount : 0;
}
