// What is made once and taken once: states of OAuth, authorization codes, device codes. Only hashes are kept.
import { randomBytes } from 'node:crypto';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { hashOf } from '../access/secrets.ts';

/** What it is for: one that was made for something else is not found. */
export type SingleUseKind = 'git-host-state' | 'cli-code' | 'device-code' | 'device-user-code';

type Json = Readonly<Record<string, string | number | boolean | null>>;

/** Under which one is kept. */
export function onceHash(kind: SingleUseKind, text: string): Buffer {
  return hashOf(`${kind}:${text}`);
}

/** Makes one. @returns its text; {@link onceHash} of it is what the others take. */
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

/** Takes one away. @returns what was kept with it; null when there is none, it was taken before, or is too old. */
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

/** Looks at one, and holds it against others until the transaction ends. */
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

/** Changes what is kept with one. */
export async function changeOnce(tx: Transaction, hash: Buffer, content: Json): Promise<void> {
  await tx`UPDATE control.single_use SET content = ${tx.json(content)} WHERE hash = ${hash}`;
}

/** Forgets those that are too old. */
export async function sweepOnce(sql: Sql): Promise<void> {
  await sql`DELETE FROM control.single_use WHERE expires_at <= now()`;
}
