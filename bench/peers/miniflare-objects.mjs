// miniflare with the durable objects that objects.bench.ts measures, on disk: `node miniflare-objects.mjs <folder>
// <port>`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Miniflare } from 'miniflare';

const [, , folder, port] = process.argv;
const contents = readFileSync(join(import.meta.dirname, '../workers/objects.js'), 'utf8');
const miniflare = new Miniflare({
  host: '127.0.0.1',
  port: Number(port),
  modules: [{ type: 'ESModule', path: 'objects.js', contents }],
  compatibilityDate: '2026-07-01',
  defaultPersistRoot: folder,
  durableObjects: { BENCH: { className: 'Bench', useSQLite: true } },
});
await miniflare.ready;
process.on('SIGTERM', () => void miniflare.dispose().then(() => process.exit(0)));
