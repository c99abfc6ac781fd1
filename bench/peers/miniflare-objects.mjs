// miniflare with the durable objects that objects.bench.ts measures, on disk: `node miniflare-objects.mjs <folder>
// <port>`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Miniflare } from 'miniflare';

const [, , folder, port] = process.argv;
const operations = readFileSync(join(import.meta.dirname, '../workers/object-operations.js'), 'utf8');
const worker = `
import { DurableObject } from 'cloudflare:workers';
import { answer, benchOf } from './object-operations.js';
export class Bench extends benchOf(DurableObject) {}
export default { fetch: answer };`;
const miniflare = new Miniflare({
  host: '127.0.0.1',
  port: Number(port),
  modules: [
    { type: 'ESModule', path: 'objects.js', contents: worker },
    { type: 'ESModule', path: 'object-operations.js', contents: operations },
  ],
  compatibilityDate: '2026-07-01',
  defaultPersistRoot: folder,
  durableObjects: { BENCH: { className: 'Bench', useSQLite: true } },
});
await miniflare.ready;
process.on('SIGTERM', () => void miniflare.dispose().then(() => process.exit(0)));
