// The accounts in Postgres, shared by every gateway of an installation: of the process `gateway`. They hear at once of
// tokens that are revoked.
import { openPostgres, type ConnectionOptions } from '#postgres/connection.ts';
import { openListener } from '#postgres/listener.ts';
import type { GatewayParts } from '../../contract.ts';
import type { Accounts, Limit } from '../accounts.ts';
import { createPostgresLedger } from './ledger.ts';
import { createTokens } from './tokens.ts';
import { createUsage } from './usage.ts';
import type { Caller } from '../../contract.ts';

/** What becomes of them is told on this channel: triggers of the tables do so. */
const CHANNEL = 'control_ai';

interface Parts {
  readonly connection: ConnectionOptions;
  readonly now: () => number;
  readonly limitsOf: (caller: Caller) => readonly Limit[] | Promise<readonly Limit[]>;
  readonly log: GatewayParts['log'];
  /** Called when the settings or the providers of an organization have changed; null: of any. */
  readonly onSettings?: (organizationId: string | null) => void;
}

export type PostgresAccounts = Accounts & { close(): Promise<void> };

/** @throws {PostgresError} when the database is away. */
export async function openPostgresAccounts(parts: Parts): Promise<PostgresAccounts> {
  const { connection, now, log } = parts;
  // What is counted may be lost with the server, for a moment's worth: no call waits for a disk.
  const sql = openPostgres({ ...connection, settings: { ...connection.settings, synchronous_commit: 'off' } });
  const tokens = createTokens(sql, now);
  const usage = createUsage(sql, log);
  const listener = await openListener(
    connection,
    CHANNEL,
    (payload) => {
      const [what, of = ''] = payload.split(' ');
      if (what === 'token') tokens.forget(of);
      else if (what === 'organization') parts.onSettings?.(of);
      else tokens.forgetAll();
    },
    () => {
      tokens.forgetAll();
      parts.onSettings?.(null);
    },
  );
  try {
    const ledger = await createPostgresLedger({ sql, now, limitsOf: parts.limitsOf, log });
    return {
      tokens,
      ledger,
      usage,
      async close() {
        await listener.close();
        await Promise.all([usage.close(), ledger.close()]);
        await sql.close();
      },
    };
  } catch (error) {
    await listener.close();
    await sql.close();
    throw error;
  }
}
