// miniflare with every binding that bindings.bench.ts measures, each with its data on disk: `node miniflare.mjs
// <folder> <port>`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Miniflare } from 'miniflare';

/** The same operations as ours; a workflow is written in another way. */
const worker = `
import { WorkflowEntrypoint } from 'cloudflare:workers';
import { answer, taken, until } from './binding-operations.js';

async function run({ ORDERS }) {
  const instance = await ORDERS.create({ params: { n: 1 } });
  await until(async () => (await instance.status()).status === 'complete');
}

export class Orders extends WorkflowEntrypoint {
  async run(event, step) {
    let n = event.payload.n;
    for (const name of ['a', 'b', 'c']) n = await step.do(name, async () => n + 1);
    return n;
  }
}

export default {
  fetch: (request, env) => answer(request, env, run),
  queue: ({ messages }, env) => taken(messages, env),
};`;

const [, , folder, port] = process.argv;
const operations = readFileSync(join(import.meta.dirname, '../workers/binding-operations.js'), 'utf8');
const miniflare = new Miniflare({
  host: '127.0.0.1',
  port: Number(port),
  modules: [
    { type: 'ESModule', path: 'worker.js', contents: worker },
    { type: 'ESModule', path: 'binding-operations.js', contents: operations },
  ],
  compatibilityDate: '2025-04-02',
  defaultPersistRoot: folder,
  d1Databases: { DB: 'main' },
  kvNamespaces: { KV: 'ledger' },
  r2Buckets: { FILES: 'files' },
  queueProducers: { JOBS: 'jobs', LATER: 'later' },
  queueConsumers: { jobs: { maxBatchSize: 10, maxBatchTimeout: 0 } },
  workflows: { ORDERS: { name: 'orders', className: 'Orders' } },
});
await miniflare.ready;
process.on('SIGTERM', () => void miniflare.dispose().then(() => process.exit(0)));
