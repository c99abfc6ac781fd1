// Determines which artifacts of a route record a machine needs before its engines can see the record. Pure.
import type { RouteRecord } from '#core/manifest.ts';

/** How many of the newest deployments of a new record are needed, because one of them may currently be released. */
const NEWEST = 3;

/**
 * @param before the record that engines of this machine currently use, or null.
 * @returns `first` are the artifacts of new deployments, and of deployments that production or a branch points to.
 * `later` are the artifacts of all other deployments, which can only be reached by their own URLs.
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
