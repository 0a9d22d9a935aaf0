/** Amounts of resources in words. */

const BINARY = ["", " Ki", " Mi", " Gi", " Ti", " Pi"];
const BYTES = /^(memory|ephemeral-storage|hugepages-.*)$/;

/** The amount as people write it. cpu is in milli, everything else in whole units. */
export function amountText(resource: string, amount: number): string {
  if (resource === "cpu") return (amount / 1000).toLocaleString("en-US", { maximumFractionDigits: 3 });
  if (!BYTES.test(resource)) return amount.toLocaleString("en-US");
  let rest = amount;
  let unit = 0;
  while (Math.abs(rest) >= 1024 && unit < BINARY.length - 1) {
    rest /= 1024;
    unit++;
  }
  return `${rest.toLocaleString("en-US", { maximumFractionDigits: 1 })}${BINARY[unit]}`;
}
