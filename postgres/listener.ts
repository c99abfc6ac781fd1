// Receives NOTIFY messages, on a dedicated connection that reconnects after a loss. Opened by wake.ts. Messages that
// are sent in the meantime are lost.
import { addressOf, Connection, dropTls, type ConnectionOptions } from './connection.ts';
import { toPostgresError } from './postgres-error.ts';

/** An open LISTEN. */
export interface Listener {
  close(): Promise<void>;
}

/** Delay after a lost connection or a failed attempt, doubled each time. */
const [againMsLeast, againMsMax] = [20, 1000];

/**
 * Resolves when the connection listens.
 *
 * @param channel an identifier. @param onGap called when the connection listens again after a loss: messages may have
 * been missed.
 * @throws {PostgresError} when the first attempt fails.
 */
export async function openListener(
  options: ConnectionOptions,
  channel: string,
  onPayload: (payload: string) => void,
  onGap: () => void = () => {},
): Promise<Listener> {
  const address = addressOf(options);
  let isClosed = false;
  let failures = 0;
  let timer: NodeJS.Timeout | null = null;
  let current: Connection | null = null;

  async function listen(): Promise<void> {
    const connection = new Connection(address, options);
    current = connection;
    try {
      await connection.connect();
      if (isClosed) return void (await connection.end());
      connection.on('notification', ({ payload }) => onPayload(payload ?? ''));
      await connection.query(`LISTEN ${channel}`);
    } catch (error) {
      await connection.end();
      if (dropTls(address, error)) return listen();
      throw toPostgresError(error, true);
    }
    failures = 0;
    if (connection.isLost) return again();
    connection.once('end', again);
  }

  function again(): void {
    if (isClosed) return;
    timer = setTimeout(
      () => void listen().then(onGap, again),
      Math.min(againMsMax, againMsLeast * 2 ** Math.min(failures++, 10)),
    );
  }

  await listen();
  return {
    async close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      await current?.end();
    },
  };
}
