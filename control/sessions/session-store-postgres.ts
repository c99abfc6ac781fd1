// Sessions in Postgres: control.session.
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { SessionStore, StoredSession } from './session-store.ts';

interface Row {
  readonly hash: Buffer;
  readonly account_id: string;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly user_agent: string | null;
  readonly address: string | null;
  readonly token_id: string | null;
}

/** @param sql is not closed with the store. */
export function createPostgresSessions(sql: Sql): SessionStore {
  return {
    async put(hash, session) {
      await insert(sql, hash, session);
    },
    async get(hash, now) {
      const [row] = await sql<Row[]>`SELECT * FROM control.session WHERE hash = ${hash} AND expires_at > ${now}`;
      return row === undefined ? null : toSession(row);
    },
    replace(hash, seenExpiresAt, graceUntil, next) {
      return sql.begin(async (tx) => {
        const { count } = await tx`
          UPDATE control.session SET expires_at = ${graceUntil}
          WHERE hash = ${hash} AND expires_at = ${seenExpiresAt}`;
        if (count === 1) await insert(tx, next.hash, next.session);
        return count === 1;
      });
    },
    async list(accountId, now) {
      const rows = await sql<Row[]>`
        SELECT * FROM control.session WHERE account_id = ${accountId} AND expires_at > ${now} ORDER BY created_at DESC, hash`;
      return rows.map((row) => ({ hash: row.hash, ...toSession(row) }));
    },
    async remove(hash) {
      await sql`DELETE FROM control.session WHERE hash = ${hash}`;
    },
    async removeAll(accountId) {
      await sql`DELETE FROM control.session WHERE account_id = ${accountId}`;
    },
    async sweep(now) {
      await sql`DELETE FROM control.session WHERE expires_at <= ${now}`;
    },
    async close() {},
  };
}

async function insert(sql: Sql | Transaction, hash: Buffer, session: StoredSession): Promise<void> {
  const { accountId, createdAt, expiresAt, userAgent, address, tokenId } = session;
  await sql`
    INSERT INTO control.session (hash, account_id, created_at, expires_at, user_agent, address, token_id)
    VALUES (${hash}, ${accountId}, ${createdAt}, ${expiresAt}, ${userAgent}, ${address}, ${tokenId})`;
}

function toSession(row: Row): StoredSession {
  return {
    accountId: row.account_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    userAgent: row.user_agent,
    address: row.address,
    tokenId: row.token_id,
  };
}
