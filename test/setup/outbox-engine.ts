// An engine that stops between the commit of a transaction and what follows it, for test/integration/outbox.test.ts,
// which kills it there. Arguments: socket of the database service, file of the queues, and where to stop: `before` or
// `after` the queue has the message.
import { databaseOps } from '#core/database-request.ts';
import { defaultLimits } from '#core/limits.ts';
import { createDatabaseClient } from '#runtime/stores/database-service.ts';
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { openOutbox } from './outbox.ts';

const limits = defaultLimits.delivery;

const [socketPath, file, where] = process.argv.slice(2) as [string, string, string];
const databases = createDatabaseClient({ socketPath });
const events = openEventsSqlite({ file, limits });
const place = { namespace: 'shop', resource: 'main' };
const outbox = openOutbox(databases, events, limits, {
  queue: {
    async send(...args) {
      if (where === 'after') await events.queue.send(...args);
      process.stdout.write('here\n');
      return new Promise(() => {});
    },
  },
});
const { t } = JSON.parse((await databases.run(place, databaseOps.begin, 0, '[]')) as string) as { t: number };
const message = { id: where, payload: JSON.stringify(where), dueAt: 1, dedupeId: null, orderingKey: null };
const sender = { project: 'shop', branch: 'main', binding: 'MAIL' };
await outbox.put(place, t, { namespace: 'shop', resource: 'mail' }, sender, message);
await databases.run(place, databaseOps.commit, t, '[]');
outbox.committed(place);
