// The platform's public addresses: configured by the operator, or looked up from its own domain.
import type { Dependencies } from '../process/dependencies.ts';

/** @throws {Error} of DNS if none are configured and the lookup fails. */
export async function publicAddresses({
  names,
  addresses,
}: Pick<Dependencies, 'names' | 'addresses'>): Promise<readonly string[]> {
  if (addresses.publicAddresses !== undefined && addresses.publicAddresses.length > 0) return addresses.publicAddresses;
  if (addresses.domain === 'localhost' || addresses.domain.endsWith('.localhost')) return [];
  // A name below the domain that no project can have. The name resolves, because a wildcard record covers all projects.
  return names.addresses(`platform--address.${addresses.domain}`);
}
