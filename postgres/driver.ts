// The library `postgres` 3.4.9 with three of its mistakes mended as it is loaded. Two are met when a server restarts
// (porsager/postgres#1208, #1154): a write to a connection that is closed ended the process, and a connection whose
// socket died with a write pending never wrote again. And a COPY that the server refused at its end never ended. Loaded
// by sql.ts alone; goes with the version that mends them.
import { registerHooks } from 'node:module';

/** Text of the library, and what stands in its place. */
const MENDED: readonly (readonly [was: string, is: string])[] = [
  // Of a transaction: nothing else holds on to a connection that is closed. True: it stays where it waits to reconnect.
  [
    '  function execute(q) {\n',
    `  function execute(q) {
    if (socket === null) {
      queryError(q, Errors.connection('CONNECTION_CLOSED', options))
      return true
    }
`,
  ],
  [
    '    const x = socket.write(chunk, fn)\n',
    `    if (socket === null) {
      chunk = nextWriteTimer = null
      error(Errors.connection('CONNECTION_CLOSED', options))
      return false
    }
    const x = socket.write(chunk, fn)
`,
  ],
  [
    '    query && queryError(query, err)\n',
    '    final && (final(err), final = null)\n    query && queryError(query, err)\n',
  ],
  ['    clearImmediate(nextWriteTimer)\n', '    clearImmediate(nextWriteTimer), chunk = nextWriteTimer = null\n'],
];

function mend(source: string): string {
  let text = source;
  for (const [was, is] of MENDED) {
    if (!text.includes(was))
      throw new Error('postgres/driver.ts mends postgres 3.4.9, and another version is installed: npm ci');
    text = text.replaceAll(was, is);
  }
  return text;
}

const hooks = registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith('/node_modules/postgres/src/connection.js')) return loaded;
    return { ...loaded, source: mend(Buffer.from(loaded.source as Uint8Array).toString('utf8')) };
  },
});
const { default: library } = await import('postgres');
hooks.deregister();

/** The library. */
export const postgres = library;
