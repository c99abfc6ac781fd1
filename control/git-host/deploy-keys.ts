// Deploy keys of plain remotes: the platform generates a key, and a person adds its public half on the host, then
// connects the remote with it. Until the remote is connected, the private half is stored encrypted, for a day at most.
import { seal, unseal } from '#core/encryption.ts';
import { newDeployKey } from '#git/deploy-key.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { makeOnce, onceHash } from '../sign-in/single-use.ts';

const KIND = 'deploy-key';
const KEY_SECONDS = 86_400;

interface Kept extends Record<string, string> {
  readonly organizationId: string;
  readonly publicKey: string;
  readonly sealed: string;
}

/** A key pair whose private half was stored. */
interface StoredDeployKey {
  readonly publicKey: string;
  readonly privateKey: string;
}

const contextOf = (organizationId: string): string => `deploy-key:${organizationId}`;

/** Generates a key. @returns the name under which the key is stored, and its public half */
export async function makeDeployKey(
  { sql, keys, addresses }: Pick<Dependencies, 'keys' | 'addresses'> & { readonly sql: Sql | Transaction },
  organizationId: string,
): Promise<{ readonly id: string; readonly publicKey: string; readonly expiresAt: Date }> {
  const { publicKey, privateKey } = newDeployKey(
    `deploy@${new URL(addresses.ui).hostname.replace(/[^a-z0-9.-]/gi, '')}`,
  );
  const sealed = seal(keys, privateKey, contextOf(organizationId)).toString('base64');
  const content: Kept = { organizationId, publicKey, sealed };
  const id = await makeOnce(sql, KIND, content, KEY_SECONDS);
  return { id, publicKey, expiresAt: new Date(Date.now() + KEY_SECONDS * 1000) };
}

/** Reads a key without deleting it, because the host may not have it yet. @throws {ApiError} `unprocessable` */
export async function readDeployKey(
  { sql, keys }: Pick<Dependencies, 'sql' | 'keys'>,
  organizationId: string,
  id: string,
): Promise<StoredDeployKey> {
  const [row] = await sql<{ content: Kept }[]>`
    SELECT content FROM control.single_use
     WHERE hash = ${onceHash(KIND, id)} AND kind = ${KIND} AND expires_at > now()`;
  if (row === undefined || row.content.organizationId !== organizationId)
    throw new ApiError('unprocessable', { reason: 'The deploy key is unknown or older than a day: create a new one' });
  const { publicKey, sealed } = row.content;
  return { publicKey, privateKey: unseal(keys, Buffer.from(sealed, 'base64'), contextOf(organizationId)) };
}

/** Deletes a key that is now stored with its repository. */
export async function dropDeployKey(sql: Sql, id: string): Promise<void> {
  await sql`DELETE FROM control.single_use WHERE hash = ${onceHash(KIND, id)} AND kind = ${KIND}`;
}
