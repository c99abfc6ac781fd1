// A program of test/engines/postgres-away.test.ts: sends and delivers messages while Postgres is killed twice, and
// prints what became of them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defaultLimits } from '#core/limits.ts';
import { nextTime } from '#core/schedules/timer-next.ts';
import { openPostgres } from '#postgres/connection.ts';
import { startEmbeddedPostgres } from '#postgres/embedded.ts';
import { openEngineRole } from '#postgres/engine-role.ts';
import { migrate } from '#postgres/migrate.ts';
import { startBroker } from '#runtime/broker/broker.ts';
import { openEventsPostgres } from '#runtime/stores/event-stores-postgres.ts';
import { until } from './until.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'platform-pg-'));
const postgres = await startEmbeddedPostgres({ folder });
const owner = openPostgres({ url: postgres.url, name: 'test', connectionsMax: 1 });
await migrate(owner);
const url = await openEngineRole(owner, postgres.url);
await owner.close();
const limits = { ...defaultLimits.delivery, pollMs: 50, backoffMs: 20, backoffMsMax: 50 };
const stores = openEventsPostgres({ url, name: 'test', limits });
const presence = await stores.join(() => {});
const delivered = new Map<string, number>();
const troubles = new Set<string>();
const broker = await startBroker({
  stores,
  wake: stores.wake,
  presence,
  nextTime,
  resolve: () => 'd000000000001',
  async deliver(_deployment, _kind, event) {
    const { messages } = JSON.parse(event.head) as { messages: { id: string }[] };
    for (const { id } of messages) delivered.set(id, (delivered.get(id) ?? 0) + 1);
    return { code: null, reason: '', result: JSON.stringify({ acked: messages.map(({ id }) => id), retry: [] }) };
  },
  limits,
  now: Date.now,
  random: () => 0,
  onEvent: (_level, message) => void troubles.add(message),
});
const place = { namespace: 'shop', resource: 'mail' };
const sender = { project: 'shop', branch: 'main', binding: 'MAIL' };
const taken: string[] = [];
let refused = 0;
/** So many are taken, and after so many of them the server is killed: by then it is back from the time before. */
const [takenMax, killedAfter] = [180, [60, 120]];
for (let n = 0; taken.length < takenMax; n++) {
  if (taken.length === killedAfter[0]) {
    killedAfter.shift();
    process.kill(postgres.pid, 'SIGKILL');
  }
  const message = { id: `m${n}`, payload: `${n}`, dueAt: Date.now(), dedupeId: null, orderingKey: null };
  try {
    taken.push(...(await stores.queue.send(place, sender, [message], Date.now())));
  } catch (error) {
    if ((error as { code?: string }).code !== 'store_unavailable') throw error;
    refused++;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
await until(() => taken.every((id) => delivered.has(id)));
await broker.close(1000);
await presence.close();
await stores.close();
await postgres.stop();
rmSync(folder, { recursive: true, force: true });
process.stdout.write(JSON.stringify({ taken: taken.length, refused, troubles: [...troubles] }));
