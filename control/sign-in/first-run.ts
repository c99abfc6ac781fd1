// First start of an installation: creates an organization, its owner, who is an operator, and a token for them, stored
// in the data folder. A fresh installation is thus usable without a Git host. Called by main.ts before it listens.
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { newId } from '../records/ids.ts';
import { hashOf } from '../access/secrets.ts';
import { issueToken } from './tokens.ts';

/** The result of the first start, now or earlier. */
interface FirstRun {
  /** Token of the first admin; null if its file was deleted. */
  readonly token: string | null;
  /** Whether this start created the token, so that it is shown once. */
  readonly isNew: boolean;
  /** Path of the token's file. */
  readonly file: string;
}

const LOGIN = 'admin';
/** An arbitrary number, used by no other advisory lock. */
const LOCK = 5_209_131_301;

/**
 * Creates the first admin if there is no account. If there is one, a new token is issued when the token in the file was
 * revoked, or when the file is empty; the earlier token is then revoked. Write access to the folder already implies
 * every permission.
 *
 * @example const { token, isNew } = await ensureFirstRun(parts);
 */
export async function ensureFirstRun({ sql, folder }: Pick<Dependencies, 'sql' | 'folder'>): Promise<FirstRun> {
  const file = path.join(folder, 'secrets', 'first-run-token');
  return sql.begin(async (tx) => {
    // API processes on several machines may start at the same time with the same database.
    await tx`SELECT pg_advisory_xact_lock(${LOCK})`;
    const [account] = await tx`SELECT 1 FROM control.account LIMIT 1`;
    if (account === undefined) return { token: await firstAdmin(tx, file), isNew: true, file };
    const kept = read(file);
    if (kept === null || (kept !== '' && (await isAlive(tx, kept)))) return { token: kept, isNew: false, file };
    const token = await anotherToken(tx, file);
    return { token, isNew: token !== null, file };
  });
}

async function firstAdmin(tx: Transaction, file: string): Promise<string> {
  const accountId = newId('account');
  const organizationId = newId('organization');
  await tx`
    INSERT INTO control.organization (id, slug, name, is_first) VALUES (${organizationId}, 'main', 'Main', true)
    ON CONFLICT (slug) DO NOTHING`;
  await tx`
    INSERT INTO control.account (id, login, name, is_admin) VALUES (${accountId}, ${LOGIN}, 'Administrator', true)`;
  await tx`
    INSERT INTO control.membership (organization_id, account_id, role)
    SELECT id, ${accountId}, 'owner' FROM control.organization WHERE is_first`;
  return keepToken(tx, file, accountId);
}

/** Recovers a lost token: write access to the data folder already implies every permission. */
async function anotherToken(tx: Transaction, file: string): Promise<string | null> {
  const [admin] = await tx<{ id: string }[]>`
    SELECT id FROM control.account WHERE is_admin ORDER BY created_at, id LIMIT 1`;
  if (admin === undefined) return null;
  await tx`
    UPDATE control.token SET revoked_at = now()
    WHERE account_id = ${admin.id} AND name = ${TOKEN_NAME} AND expires_at IS NULL AND revoked_at IS NULL`;
  return keepToken(tx, file, admin.id);
}

const TOKEN_NAME = 'First start';

async function keepToken(tx: Transaction, file: string, accountId: string): Promise<string> {
  const { secret } = (await issueToken(tx, { accountId, tokenId: null, name: TOKEN_NAME, days: null }))!;
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, `${secret}\n`, { mode: 0o600, flush: true });
  chmodSync(beside, 0o600);
  renameSync(beside, file);
  return secret;
}

async function isAlive(tx: Transaction, secret: string): Promise<boolean> {
  const [row] = await tx`SELECT 1 FROM control.token WHERE hash = ${hashOf(secret)} AND revoked_at IS NULL`;
  return row !== undefined;
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
