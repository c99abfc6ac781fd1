// Which parts of the slow suites a submission runs: a fixed cost, first what the change reaches, the most directly
// reached first, then one of six shares of everything. Pure; submission.ts runs the chosen parts.
import { createHash } from 'node:crypto';

/** A part of a suite that can run alone. */
export interface Part {
  readonly suite: string;
  /** Name: `npm test -- <suite> <part>`. */
  readonly name: string;
  /** CPU seconds of the part in a submission. */
  readonly cost: number;
  /** Distance of the part from the change (reach.ts); null if the change does not reach the part. */
  readonly distance: number | null;
}

/** A part, and why it runs or is skipped. */
export interface Choice {
  readonly part: Part;
  readonly reason: string;
}

export const SHARES = 6;

/** The share of a part, 0 to 5. It is the same in every commit, so that six shares cover all parts. */
export function shareOf({ suite, name }: Pick<Part, 'suite' | 'name'>): number {
  return createHash('sha256').update(`${suite} ${name}`).digest().readUInt32BE(0) % SHARES;
}

/**
 * The cost of slow parts for which a machine has time, if suites use its cores as much as `npm test` does.
 *
 * @param secondsLeft the time until all steps must have ended.
 * @param secondsPerCost the seconds that the machine took for each recorded CPU second of `npm test`.
 * @returns recorded CPU seconds, 0 or more.
 * @example
 * roomFor(400, 0.8); // 500
 */
export function roomFor(secondsLeft: number, secondsPerCost: number): number {
  return Math.max(0, secondsLeft / secondsPerCost);
}

/**
 * Chooses parts within a budget.
 *
 * @param budget CPU seconds for all chosen parts.
 * @param share the share, of six, that runs in addition to the reached parts.
 * @example
 * chooseParts([{ suite: 'edge', name: 'own-proxy', cost: 40, distance: 1 }], 1000, 0).chosen.length; // 1
 */
export function chooseParts(
  parts: readonly Part[],
  budget: number,
  share: number,
): { readonly chosen: readonly Choice[]; readonly left: readonly Choice[] } {
  const reached = parts.filter(({ distance }) => distance !== null).toSorted(byDistance(share));
  const others = parts.filter((part) => part.distance === null && shareOf(part) === share).toSorted(byName);
  const chosen: Choice[] = [];
  const left: Choice[] = [];
  let room = budget;
  const take = (part: Part, reason: string): void => {
    if (part.cost > room) {
      left.push({ part, reason: `${reason}, but takes ${seconds(part.cost)} where ${seconds(room)} are left` });
      return;
    }
    room -= part.cost;
    chosen.push({ part, reason });
  };
  for (const part of reached) take(part, `${part.distance} steps from the change`);
  for (const part of others) take(part, `in share ${share}`);
  for (const part of parts)
    if (part.distance === null && shareOf(part) !== share)
      left.push({ part, reason: `not reached by the change, in share ${shareOf(part)}` });
  return { chosen, left };
}

/**
 * Near ones first. Among equal parts, those of the share come first, so that commits alternate when a change reaches
 * everything; then cheaper parts, because more of them fit.
 */
function byDistance(share: number): (a: Part, b: Part) => number {
  const turn = (part: Part): number => (shareOf(part) === share ? 0 : 1);
  return (a, b) => a.distance! - b.distance! || turn(a) - turn(b) || a.cost - b.cost || byName(a, b);
}

function byName(a: Part, b: Part): number {
  return `${a.suite} ${a.name}` < `${b.suite} ${b.name}` ? -1 : 1;
}

function seconds(value: number): string {
  return `${value.toFixed(0)} s`;
}
