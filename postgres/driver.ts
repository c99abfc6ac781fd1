// The library `postgres` 3.4.9 with some bugs patched when it is loaded. Two occur when a server restarts
// (porsager/postgres#1208, #1154): a write to a closed connection crashed the process, and a connection whose socket
// died with a pending write never wrote again. Three occur when a connection ends. Reading the types crashed the
// process. The last query of the connection stayed pending, so that a statement on the next connection never ended or
// had an empty first row. Queries of a transaction after its end ran outside of it, on the next connection. Without
// this patch, a COPY that the server refused at its end never ended. Loaded by sql.ts only; removed when a version of
// the library fixes them.
import { registerHooks } from 'node:module';

type Mended = readonly (readonly [was: string, is: string])[];

/** Code of the library's connections, and its replacement. */
const CONNECTION: Mended = [
  // Only a transaction can still reference a closed connection. Returning true leaves the connection in the reconnect
  // queue.
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
  // If the connection ends meanwhile, the statement that waits for the types gets the error.
  ['        return fetchArrayTypes()\n', '        return fetchArrayTypes().catch(() => {})\n'],
  // Removes the queries of an ended connection: the next connection mistook them for its own first query.
  [
    `    if (initial)
      return reconnect()

    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
`,
    `    const next = initial
    initial = null
    ;(query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
    query = results = errorResponse = null
    result = new Result()
    rows = 0
    initial = next
    if (initial)
      return reconnect()

`,
  ],
  ['    clearImmediate(nextWriteTimer)\n', '    clearImmediate(nextWriteTimer), chunk = nextWriteTimer = null\n'],
];

/** The library's code for transactions, and its replacement. */
const INDEX: Mended = [
  [
    '        new Promise((_, reject) => connection.onclose = reject)\n',
    `        new Promise((_, reject) => connection.onclose = error => {
          gone = error
          while (queries.length) queries.shift().reject(error)
          reject(error)
        })
`,
  ],
  ['      , prepare = null\n', '      , prepare = null\n      , gone = null\n'],
  [
    '        q.catch(e => uncaughtError || (uncaughtError = e))\n',
    `        q.catch(e => uncaughtError || (uncaughtError = e))
        if (gone)
          return q.reject(gone)
`,
  ],
];

function mend(source: string, mended: Mended): string {
  let text = source;
  for (const [was, is] of mended) {
    if (!text.includes(was))
      throw new Error('postgres/driver.ts patches postgres 3.4.9, but another version is installed: run npm ci');
    text = text.replaceAll(was, is);
  }
  return text;
}

const hooks = registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const file = /\/node_modules\/postgres\/src\/(connection|index)\.js$/.exec(url)?.[1];
    if (file === undefined) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString('utf8');
    return { ...loaded, source: mend(source, file === 'index' ? INDEX : CONNECTION) };
  },
});
const { default: library } = await import('postgres');
hooks.deregister();

/** The library. */
export const postgres = library;
