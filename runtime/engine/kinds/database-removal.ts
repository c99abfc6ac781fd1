// Deletes one database of a branch or a project. Called by branch-removal.ts through table.ts, and by
// project-removal.ts.
import type { BranchStores } from '../bindings/bindings.ts';
import type { DatabasePlace } from '../bindings/scope.ts';

/** @returns how many databases there were: 0 or 1. */
export async function removeDatabase(
  { databases, events }: Pick<BranchStores, 'databases' | 'events'>,
  place: DatabasePlace,
): Promise<number> {
  // This comes first, because a search for messages in a deleted database would create an empty one.
  await events?.outboxes.forget(place);
  return (await databases?.remove(place)) === true ? 1 : 0;
}
