// Accounts in Postgres, shared by all gateways of an installation. Used by the process `gateway`. Revoked tokens are
// announced immediately.
import type { EncryptionKeys } from '#core/encryption.ts';
import { Failure } from '#core/failure.ts';
import { openPostgres, type ConnectionOptions } from '#postgres/connection.ts';
import { openListener } from '#postgres/listener.ts';
import { isConnectionError, sqlState } from '#postgres/postgres-error.ts';
import type { GatewayDeps, ModelTable, ModelTables } from '../../contract/contract.ts';
import type { Accounts, LimitsOf } from '../accounts.ts';
import { createPostgresLedger } from './ledger.ts';
import { createSettings } from './settings.ts';
import { sweep } from './sweep.ts';
import { createTokens } from './tokens.ts';
import { createUsage } from './usage.ts';

/** Channel on which table triggers announce changes. */
const CHANNEL = 'control_ai';
const SWEEP_MS = 600_000;

interface Deps {
  readonly connection: ConnectionOptions;
  readonly now: () => number;
  /** Limits of plans. Organizations and projects may add limits of their own. */
  readonly limitsOf: LimitsOf;
  /** The operator's models. Organizations may add providers of their own. */
  readonly table: ModelTable;
  /** Decrypts the provider keys of organizations. */
  readonly keys: EncryptionKeys;
  readonly usageDays: number;
  readonly log: GatewayDeps['log'];
}

export interface PostgresAccounts extends Accounts {
  readonly models: ModelTables;
  close(): Promise<void>;
}

/** @throws {PostgresError} when the database is unavailable. */
export async function openPostgresAccounts(deps: Deps): Promise<PostgresAccounts> {
  const { connection, now, log } = deps;
  // No call waits for a disk write, so counters may lose their last updates if the database server crashes.
  const sql = openPostgres({ ...connection, settings: { ...connection.settings, synchronous_commit: 'off' } });
  const tokens = createTokens(sql, now);
  const usage = createUsage(sql, log);
  const settings = createSettings({ ...deps, sql });
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
    const told = (error: unknown): void => log('warn', 'expired AI data was not deleted', { code: sqlState(error) });
    sweep(sql, now(), deps.usageDays).catch(told);
  }, SWEEP_MS).unref();
  try {
    const ledger = await createPostgresLedger({
      sql,
      now,
      limitsOf: async (caller) => [...deps.limitsOf(caller), ...(await settings.limitsOf(caller))],
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

/** A query that a call waits for. @throws {Failure} `accounts_away` when the database does not answer. */
function orAway<Given extends unknown[], Answer>(
  ask: (...given: Given) => Promise<Answer>,
): (...given: Given) => Promise<Answer> {
  return async (...given) => {
    try {
      return await ask(...given);
    } catch (error) {
      throw isConnectionError(error)
        ? new Failure('accounts_away', 'The database is not responding', { cause: error })
        : error;
    }
  };
}
