/** Amounts of resources in words. */

const BINARY = ["", " Ki", " Mi", " Gi", " Ti", " Pi"];
const MILLI = new Intl.NumberFormat("en-US", { maximumFractionDigits: 3 });
const WHOLE = new Intl.NumberFormat("en-US");
const TENTHS = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
const BYTES = /^(memory|ephemeral-storage|hugepages-.*)$/;

/** The amount as people write it. cpu is in milli, everything else in whole units. */
export function amountText(resource: string, amount: number): string {
  if (resource === "cpu") return MILLI.format(amount / 1000);
  if (!BYTES.test(resource)) return WHOLE.format(amount);
  let rest = amount;
  let unit = 0;
  while (Math.abs(rest) >= 1024 && unit < BINARY.length - 1) {
    rest /= 1024;
    unit++;
  }
  return `${TENTHS.format(rest)}${BINARY[unit]}`;
}
