// What objects.bench.ts measures, for our worker (objects.js) and that of miniflare (../peers/miniflare-objects.mjs): a
// durable object, and the route that calls it many times.
const VALUE = 'a value of some length, as a session has';

/** @param Base gives its instances `ctx`. */
export const benchOf = (Base) =>
  class extends Base {
    #isNew = true;

    fetch(request) {
      this.#isNew = false;
      if (request.headers.get('upgrade') === null) return new Response('ok');
      const { 0: client, 1: server } = new WebSocketPair();
      this.ctx.acceptWebSocket(server);
      return new Response(null, { status: 101, webSocket: client });
    }

    webSocketMessage(socket, message) {
      socket.send(message === 'wake' ? (this.#isNew ? 'new' : 'old') : message);
      this.#isNew = false;
    }

    call(n) {
      return n;
    }

    async put(n) {
      await this.ctx.storage.put(`key ${n % 100}`, VALUE);
    }

    prepare() {
      this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, a TEXT)');
      for (let id = 0; id < 100; id++) this.ctx.storage.sql.exec('INSERT OR REPLACE INTO t VALUES (?, ?)', id, VALUE);
    }

    sql(n) {
      return this.ctx.storage.sql.exec('SELECT * FROM t WHERE id = ?', n % 100).one();
    }
  };

const operations = {
  fetch: (object) => object.fetch('https://object/').then((response) => response.text()),
  call: (object, n) => object.call(n),
  put: (object, n) => object.put(n),
  sql: (object, n) => object.sql(n),
};

/** `/prepare`, `/live?n=1000`, or `/?op=call&n=100&beside=16`. */
export async function answer(request, { BENCH }) {
  const { pathname, searchParams } = new URL(request.url);
  if (request.headers.get('upgrade') !== null) return BENCH.getByName(pathname).fetch(request);
  if (pathname === '/prepare') await BENCH.getByName('one').prepare();
  if (pathname === '/live')
    for (let n = Number(searchParams.get('n')); n > 0; n--) await BENCH.getByName(`live ${n}`).call(n);
  const operation = operations[searchParams.get('op')];
  const object = BENCH.getByName('one');
  const beside = Number(searchParams.get('beside') ?? 1);
  const chain = async (count) => {
    for (let n = count; n > 0; n--) await operation(object, n);
  };
  if (operation !== undefined)
    await Promise.all(Array.from({ length: beside }, () => chain(Math.ceil(Number(searchParams.get('n')) / beside))));
  return new Response('done');
}
