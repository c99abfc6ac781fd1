// Re-encrypts data with the current key of ENCRYPTION_KEY: variables, the frozen variables of deployments, repository
// credentials, tokens and webhook secrets of Git hosts, secrets of subscriptions, keys of AI providers, second factors.
// Runs when an operator requests it. Everything that the control plane stores encrypted for longer than a day must be
// listed here.
import { isCurrent, seal, unseal, type EncryptionKeys } from '#core/encryption.ts';
import { settingContext } from '#core/variable-context.ts';
import { credentialsContext } from '#git/clone-source.ts';
import { accountContext, clientContext } from '#git/host/grants.ts';
import type { Sql } from '#postgres/sql.ts';
import { providerContext } from '#gateway/accounts/postgres/settings.ts';
import { hostContext } from '../git-host/hosts.ts';
import { secretContext, subscriptionKinds } from '../outbound/subscription.ts';
import { frozenContext } from '../releases/frozen-variables.ts';
import { GIT_HOST, tokenContext } from '../sign-in/git-host-token.ts';
import { factorContext } from '../records/second-factors.ts';
import { resealVariables } from '../records/variables.ts';

/** A column of encrypted values. */
interface Place {
  readonly table: string;
  /** Primary key column. */
  readonly id: string;
  readonly column: string;
  /** Encryption context of a value. */
  readonly context: (id: string) => string;
}

const places: readonly Place[] = [
  { table: 'control.deployment', id: 'id', column: 'variables', context: frozenContext },
  { table: 'control.repository', id: 'id', column: 'credentials', context: credentialsContext },
  {
    table: 'control.identity',
    id: 'subject',
    column: 'access_token',
    context: (subject) => tokenContext(GIT_HOST, subject),
  },
  ...subscriptionKinds.map((kind): Place => {
    return { table: kind.table, id: kind.id, column: kind.sealed, context: (id) => secretContext(kind, id) };
  }),
  { table: 'control.git_host', id: 'id', column: 'webhook_secret', context: hostContext },
  { table: 'control.git_host', id: 'id', column: 'oauth_client_secret', context: clientContext },
  { table: 'control.installation', id: 'id', column: 'token', context: accountContext },
  { table: 'control.second_factor', id: 'account_id', column: 'secret', context: factorContext },
  { table: 'control.setting', id: 'name', column: 'value', context: settingContext },
  { table: 'control.ai_provider', id: 'id', column: 'key', context: providerContext },
];

const BATCH = 500;

/** @returns the number of re-encrypted values, and of those that no listed key can decrypt. */
export async function resealAll(
  sql: Sql,
  keys: EncryptionKeys,
): Promise<{ readonly resealed: number; readonly unreadable: number }> {
  const counts = { ...(await resealVariables(sql, keys)) };
  for (const place of places) {
    const found = await resealPlace(sql, keys, place);
    counts.resealed += found.resealed;
    counts.unreadable += found.unreadable;
  }
  return counts;
}

async function resealPlace(
  sql: Sql,
  keys: EncryptionKeys,
  { table, id, column, context }: Place,
): Promise<{ resealed: number; unreadable: number }> {
  const counts = { resealed: 0, unreadable: 0 };
  for (let last = ''; ;) {
    const next = await sql.begin(async (tx) => {
      const rows = await tx<{ id: string; sealed: Buffer }[]>`
        SELECT ${tx(id)} AS id, ${tx(column)} AS sealed FROM ${tx(table)}
        WHERE ${tx(column)} IS NOT NULL AND ${tx(id)} > ${last} ORDER BY ${tx(id)} LIMIT ${BATCH} FOR UPDATE`;
      for (const row of rows) {
        if (isCurrent(keys, row.sealed)) continue;
        try {
          const value = seal(keys, unseal(keys, row.sealed, context(row.id)), context(row.id));
          await tx`UPDATE ${tx(table)} SET ${tx(column)} = ${value} WHERE ${tx(id)} = ${row.id}`;
          counts.resealed++;
        } catch {
          counts.unreadable++;
        }
      }
      return rows.at(-1)?.id ?? null;
    });
    if (next === null) return counts;
    last = next;
  }
}
