// The accounts in Postgres, shared by every gateway of an installation: of the process `gateway`. They hear at once of
// tokens that are revoked.
import type { EncryptionKeys } from '#core/encryption.ts';
import { openPostgres, type ConnectionOptions } from '#postgres/connection.ts';
import { openListener } from '#postgres/listener.ts';
import { isConnectionTrouble, sqlState } from '#postgres/postgres-error.ts';
import type { GatewayParts, ModelTable, ModelTables } from '../../contract/contract.ts';
import { AccountsAway, type Accounts, type LimitsOf } from '../accounts.ts';
import { createPostgresLedger } from './ledger.ts';
import { createSettings } from './settings.ts';
import { sweep } from './sweep.ts';
import { createTokens } from './tokens.ts';
import { createUsage } from './usage.ts';

/** What becomes of them is told on this channel: triggers of the tables do so. */
const CHANNEL = 'control_ai';
const SWEEP_MS = 600_000;

interface Parts {
  readonly connection: ConnectionOptions;
  readonly now: () => number;
  /** Of plans: organizations and projects may set themselves more. */
  readonly limitsOf: LimitsOf;
  /** Of the operator: organizations may have more. */
  readonly table: ModelTable;
  /** Opens the keys of organizations' providers. */
  readonly keys: EncryptionKeys;
  readonly usageDays: number;
  readonly log: GatewayParts['log'];
}

export interface PostgresAccounts extends Accounts {
  readonly models: ModelTables;
  close(): Promise<void>;
}

/** @throws {PostgresError} when the database is away. */
export async function openPostgresAccounts(parts: Parts): Promise<PostgresAccounts> {
  const { connection, now, log } = parts;
  // What is counted may be lost with the server, for a moment's worth: no call waits for a disk.
  const sql = openPostgres({ ...connection, settings: { ...connection.settings, synchronous_commit: 'off' } });
  const tokens = createTokens(sql, now);
  const usage = createUsage(sql, log);
  const settings = createSettings({ ...parts, sql });
  const listener = await openListener(
    connection,
    CHANNEL,
    (payload) => {
      const [what, of = ''] = payload.split(' ');
      if (what === 'token') tokens.forget(of);
      else if (what === 'organization') settings.forget(of);
      else tokens.forgetAll();
    },
    () => {
      tokens.forgetAll();
      settings.forget(null);
    },
  );
  const sweeping = setInterval(() => {
    const told = (error: unknown): void => log('warn', 'what is over stays for now', { code: sqlState(error) });
    sweep(sql, now(), parts.usageDays).catch(told);
  }, SWEEP_MS).unref();
  try {
    const ledger = await createPostgresLedger({
      sql,
      now,
      limitsOf: async (caller) => [...parts.limitsOf(caller), ...(await settings.limitsOf(caller))],
      log,
    });
    return {
      tokens: { ...tokens, authenticate: orAway(tokens.authenticate) },
      ledger: { reserve: orAway(ledger.reserve) },
      usage,
      models: orAway(settings.table),
      async close() {
        clearInterval(sweeping);
        await listener.close();
        await Promise.all([usage.close(), ledger.close()]);
        await sql.close();
      },
    };
  } catch (error) {
    clearInterval(sweeping);
    await listener.close();
    await sql.close();
    throw error;
  }
}

/** A question that a call waits for. @throws {AccountsAway} when the database does not answer. */
function orAway<Given extends unknown[], Answer>(
  ask: (...given: Given) => Promise<Answer>,
): (...given: Given) => Promise<Answer> {
  return async (...given) => {
    try {
      return await ask(...given);
    } catch (error) {
      throw isConnectionTrouble(error) ? new AccountsAway('The database does not answer', { cause: error }) : error;
    }
  };
}
