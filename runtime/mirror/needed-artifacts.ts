// Which artifacts of a route record have to be on a machine before its engines may see the record. Pure.
import type { RouteRecord } from '#core/manifest.ts';

/** The newest ones of a record that is new here: one of them may be in its release. */
const NEWEST = 3;

/**
 * @param before the record that engines of this machine have; null: none.
 * @returns `first`: artifacts of deployments that a URL leads to, and of those that are new. `later`: of the others,
 * which only their own URLs lead to.
 */
export function neededArtifacts(
  record: RouteRecord,
  before: RouteRecord | null,
): { readonly first: ReadonlySet<string>; readonly later: ReadonlySet<string> } {
  const { deployments, production, split, branches } = record;
  const all = Object.values(deployments);
  const led = new Set([production, split?.deployment ?? null, ...Object.values(branches)]);
  const newest = all.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(0, NEWEST);
  const isNew = (id: string): boolean =>
    before === null ? newest.some((one) => one.id === id) : !Object.hasOwn(before.deployments, id);
  const first = new Set(all.filter(({ id }) => led.has(id) || isNew(id)).map(({ artifact }) => artifact));
  const later = new Set(all.map(({ artifact }) => artifact).filter((artifact) => !first.has(artifact)));
  return { first, later };
}
