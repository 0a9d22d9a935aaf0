/** The gangs of a map. Each has a number that stays as long as frames are put into the map. */

import type { GangColumns } from "../wire.ts";

/** In place of a gang: pods without one. */
export const ALONE = -1;

export interface Gang {
  readonly namespace: string;
  readonly name: string;
  /** Two gangs of a namespace may have the same name. They differ in this. */
  readonly key: string;
}

/** Models of the same map share it: it only grows. */
export class Gangs {
  private readonly all: Gang[] = [];
  private readonly numbers = new Map<string, number>();
  private readonly named = new Map<string, number[]>();

  get size(): number {
    return this.all.length;
  }

  /** Undefined for ALONE. */
  gang(number: number): Gang | undefined {
    return this.all[number];
  }

  /** The numbers of those with this NAMESPACE/NAME. */
  withName(name: string): readonly number[] {
    return this.named.get(name) ?? [];
  }

  /** The numbers of these gangs. Those that are new get one. */
  numbersOf({ namespace, name, key }: GangColumns): number[] {
    return name.map((each, at) => this.numberOf({ namespace: namespace[at] ?? "", name: each, key: key[at] ?? "" }));
  }

  private numberOf(gang: Gang): number {
    const id = gangKey(gang.namespace, gang.key);
    const known = this.numbers.get(id);
    if (known !== undefined) return known;
    const number = this.all.push(gang) - 1;
    this.numbers.set(id, number);
    const name = gangKey(gang.namespace, gang.name);
    this.named.set(name, [...this.withName(name), number]);
    return number;
  }

  /** The order of the server. Pods without a gang come first. */
  compare(one: number, other: number): number {
    const [first, second] = [this.all[one], this.all[other]];
    if (first === undefined || second === undefined) return Number(first !== undefined) - Number(second !== undefined);
    return compared(first.namespace, second.namespace) || compared(first.key, second.key);
  }
}

export function gangKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

export function compared(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
