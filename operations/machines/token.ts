// Tokens for machines that join: each is used once and expires. Postgres has its hash, and the installation's settings,
// encrypted with a key that only the token contains (docs/decisions/134-machines-join-over-postgres.md).
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { encryptionKeys, seal, unseal } from '#core/encryption.ts';
import { defaultLimits } from '#core/limits.ts';
import { openPostgres, type Session } from '#postgres/connection.ts';
import { sharedVariables, sharingProblems, type Variables } from './shared-settings.ts';

/** A new token. */
interface MadeToken {
  readonly token: string;
  readonly expiresAt: Date;
  /** Names of the variables that the token contains. */
  readonly variables: readonly string[];
}

const TOKEN = /^plm_([0-9a-f]{16})_([\w-]{43})$/;
const contextOf = (id: string): string => `machine-token:${id}`;
const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/**
 * Makes a token.
 *
 * @param environment the environment of a machine of the installation.
 * @throws {Error} naming secrets that other machines could not share, or if too many tokens are valid.
 */
export async function makeMachineToken(environment: Readonly<Record<string, string | undefined>>): Promise<MadeToken> {
  const url = environment['DATABASE_URL']?.trim() ?? '';
  if (url === '' || url.toLowerCase() === 'none')
    throw new Error('DATABASE_URL is not set: an embedded Postgres serves one machine only');
  const { tokenMs, tokensMax } = defaultLimits.machine;
  const shared = sharedVariables(environment);
  const problems = sharingProblems(shared);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const id = randomBytes(8).toString('hex');
  const secret = randomBytes(32).toString('base64url');
  const sealed = seal(encryptionKeys(secret), JSON.stringify(shared), contextOf(id));
  const sql = openPostgres({ url, name: 'platform machines', connectionsMax: 1 });
  const work = sql.transaction(async (tx) => {
    await tx.all('LOCK TABLE control.machine_token IN SHARE ROW EXCLUSIVE MODE');
    await tx.all(`DELETE FROM control.machine_token WHERE expires_at < now() - interval '7 days'`);
    await tx.all('UPDATE control.machine_token SET settings = NULL WHERE expires_at < now() AND settings IS NOT NULL');
    const [row] = await tx.all<{ valid: number }>(
      'SELECT count(*)::int4 AS valid FROM control.machine_token WHERE used_at IS NULL AND expires_at > now()',
    );
    if (row!.valid >= tokensMax)
      throw new Error(`${tokensMax} tokens for machines are valid: wait until some have expired`);
    const [made] = await tx.all<{ expires_at: Date }>(
      `INSERT INTO control.machine_token (id, hash, settings, expires_at)
        VALUES ($1, $2, $3, now() + $4::float8 * interval '1 millisecond') RETURNING expires_at`,
      id,
      hashOf(secret),
      sealed,
      tokenMs,
    );
    await audit(tx, 'machine.token', id);
    return { token: `plm_${id}_${secret}`, expiresAt: made!.expires_at, variables: Object.keys(shared).toSorted() };
  });
  return work.finally(() => sql.close());
}

/**
 * Uses a token within a transaction: after a rollback, it is unused.
 *
 * @throws {Error} if the token is unknown, used or expired; the message does not contain its value.
 */
export async function useMachineToken(tx: Session, token: string, machine: string): Promise<Variables> {
  const [, id, secret] = TOKEN.exec(token) ?? [];
  if (id === undefined || secret === undefined)
    throw new Error('This is not a token for a machine: `platform machines token` creates one, which begins with plm_');
  const [row] = await tx.all<{ hash: Buffer; settings: Buffer | null; used_by: string | null; is_expired: boolean }>(
    `SELECT hash, settings, used_by, expires_at <= now() AS is_expired FROM control.machine_token WHERE id = $1 FOR UPDATE`,
    id,
  );
  // Checking an unknown token takes as long as checking a wrong token.
  const isKnown = timingSafeEqual(row?.hash ?? hashOf(''), hashOf(secret));
  if (row === undefined || !isKnown)
    throw new Error('The token is unknown to this installation: create a token on one of its machines');
  if (row.used_by !== null)
    throw new Error(
      `The token was used by machine ${row.used_by}: it is valid for one machine only, so create another token`,
    );
  if (row.is_expired || row.settings === null) throw new Error('The token has expired: create another token');
  const variables = JSON.parse(unseal(encryptionKeys(secret), row.settings, contextOf(id))) as Variables;
  await tx.all(
    'UPDATE control.machine_token SET settings = NULL, used_at = now(), used_by = $2 WHERE id = $1',
    id,
    machine,
  );
  await audit(tx, 'machine.join', machine);
  return variables;
}

/** The actor is `system`: the command runs on a machine, as a user who already has its secrets. */
async function audit(tx: Session, action: string, subject: string): Promise<void> {
  await tx.all(
    `INSERT INTO control.audit_event (actor_kind, action, subject_kind, subject_id, details)
      VALUES ('system', $1, 'machine', $2, '{}')`,
    action,
    subject,
  );
}
