// The platform's own addresses, as the world reaches it: what the operator says, or what its own name leads to.
import type { Dependencies } from '../process/dependencies.ts';

/** @throws {Error} of DNS where the operator has said none and nobody can say. */
export async function publicAddresses({
  names,
  addresses,
}: Pick<Dependencies, 'names' | 'addresses'>): Promise<readonly string[]> {
  if (addresses.publicAddresses !== undefined && addresses.publicAddresses.length > 0) return addresses.publicAddresses;
  if (addresses.domain === 'localhost' || addresses.domain.endsWith('.localhost')) return [];
  // Projects lie below the domain, by a wildcard: one that nobody can have leads where all do.
  return names.addresses(`platform--address.${addresses.domain}`);
}
