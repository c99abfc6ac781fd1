// What bindings.bench.ts measures, for our worker (bindings.js) and miniflare's (../peers/miniflare.mjs): one operation
// of a binding by name, and the route that does many one after the other.
const megabyte = new Uint8Array(1024 * 1024).fill(7);
let delivered = 0;

/** Events may have an isolate of their own: what it took is said in the store, once all that were sent have come. */
export async function taken(messages, { KV }) {
  delivered += messages.length;
  if (delivered >= messages[0].body.all) await KV.put('delivered', String(delivered));
}

const insert = (db, i) => db.prepare('INSERT INTO t (a, n) VALUES (?, ?)').bind('hello', i);
const operations = {
  'db select': ({ DB }, i) =>
    DB.prepare('SELECT * FROM t WHERE id = ?')
      .bind((i % 1000) + 1)
      .first(),
  'db insert': ({ DB }, i) => insert(DB, i).run(),
  'db batch of ten': ({ DB }, i) => DB.batch(Array.from({ length: 10 }, () => insert(DB, i))),
  'state get': ({ KV }, i) => KV.get(`key ${i % 1000}`),
  'state put': ({ KV }, i) => KV.put(`key ${i % 1000}`, 'a value of some length, as a session has'),
  'fs get 1 MB': async ({ FILES }) => (await (await FILES.get('big')).arrayBuffer()).byteLength,
  'fs put 1 MB': ({ FILES }) => FILES.put('big', megabyte),
  // Far enough away that nothing is delivered while it is measured.
  'queue send': ({ LATER }, i) => LATER.send({ n: i }, { delaySeconds: 3600 }),
  'queue send and delivery': ({ JOBS }, i, all) => JOBS.send({ n: i, all }),
  nothing: () => Promise.resolve(),
};

/**
 * `/prepare`, `/delivered`, or `/?op=db%20select&n=100`; `all`: messages that will have been delivered then. @param run
 * starts a workflow of three steps and waits for its end.
 */
export async function answer(request, env, run) {
  const { pathname, searchParams } = new URL(request.url);
  if (pathname === '/up') return new Response('up');
  if (pathname === '/delivered') return new Response((await env.KV.get('delivered')) ?? '0');
  if (pathname === '/prepare') {
    await env.DB.exec('CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, a TEXT, n)');
    for (let i = 0; i < 100; i++) await operations['db batch of ten'](env, i);
    for (let i = 0; i < 1000; i++) await operations['state put'](env, i);
    await operations['fs put 1 MB'](env);
    return new Response('done');
  }
  const operation = searchParams.get('op') === 'workflow of three steps' ? run : operations[searchParams.get('op')];
  const all = Number(searchParams.get('all'));
  for (let i = Number(searchParams.get('n')); i > 0; i--) await operation(env, i, all);
  return new Response('done');
}

/** Polls until `isOver` says so. */
export async function until(isOver) {
  while (!(await isOver())) await new Promise((resolve) => setTimeout(resolve, 3));
}
