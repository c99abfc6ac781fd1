// Single-use records: OAuth states, authorization codes, device codes, challenges of passkeys. Stored by hash.
import { randomBytes } from 'node:crypto';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { hashOf } from '../access/secrets.ts';

/** A record is only found under its own kind. */
type SingleUseKind =
  | 'git-host-state'
  | 'oidc-state'
  | 'application-state'
  | 'git-account-state'
  | 'deploy-key'
  | 'cli-code'
  | 'device-code'
  | 'device-user-code'
  | 'recovery'
  | 'second-factor'
  | 'email'
  | 'passkey-sign-in'
  | 'passkey-add'
  | 'passkey-join';

type Json = Readonly<Record<string, string | number | boolean | null>>;

/** The key of a record. */
export function onceHash(kind: SingleUseKind, text: string): Buffer {
  return hashOf(`${kind}:${text}`);
}

/**
 * Creates a record. Creates a record. @returns the record's secret text; pass its {@link onceHash} to the other
 * functions.
 */
export async function makeOnce(
  sql: Sql | Transaction,
  kind: SingleUseKind,
  content: Json,
  seconds: number,
  text: string = randomBytes(32).toString('base64url'),
): Promise<string> {
  await sql`
    INSERT INTO control.single_use (hash, kind, content, expires_at)
    VALUES (${onceHash(kind, text)}, ${kind}, ${sql.json(content)}, now() + make_interval(secs => ${seconds}))`;
  return text;
}

/**
 * Deletes a record. Deletes a record. @returns the record's content; null if the record does not exist, was already
 * taken, or has expired.
 */
export async function takeOnce<Content extends Json>(
  sql: Sql | Transaction,
  kind: SingleUseKind,
  hash: Buffer,
): Promise<Content | null> {
  const [row] = await sql<{ content: Content; fresh: boolean }[]>`
    DELETE FROM control.single_use WHERE hash = ${hash} AND kind = ${kind}
    RETURNING content, expires_at > now() AS fresh`;
  return row?.fresh === true ? row.content : null;
}

/** Reads a record and locks it until the transaction ends. */
export async function holdOnce<Content extends Json>(
  tx: Transaction,
  kind: SingleUseKind,
  hash: Buffer,
): Promise<Content | null> {
  const [row] = await tx<{ content: Content }[]>`
    SELECT content FROM control.single_use
    WHERE hash = ${hash} AND kind = ${kind} AND expires_at > now() FOR UPDATE`;
  return row?.content ?? null;
}

/** Changes the content of a record. */
export async function changeOnce(tx: Transaction, hash: Buffer, content: Json): Promise<void> {
  await tx`UPDATE control.single_use SET content = ${tx.json(content)} WHERE hash = ${hash}`;
}

/** Deletes expired records. */
export async function sweepOnce(sql: Sql): Promise<void> {
  await sql`DELETE FROM control.single_use WHERE expires_at <= now()`;
}
