// Looks up TXT records, which prove who may use a domain.
import { Resolver } from 'node:dns/promises';

const WAIT_MS = 3000;
const TRIES = 2;

/** @throws {Error} with the code of DNS, such as `ENOTFOUND`. */
export async function resolveTxt(name: string): Promise<string[]> {
  const records = await new Resolver({ timeout: WAIT_MS, tries: TRIES }).resolveTxt(name);
  return records.map((parts) => parts.join(''));
}
