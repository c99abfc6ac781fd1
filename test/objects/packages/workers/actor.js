// @cloudflare/actors: its binding has the name of the class, here in capitals.
import { Actor, handler } from '@cloudflare/actors';

export class COUNTER extends Actor {
  static nameFromRequest(request) {
    return new URL(request.url).searchParams.get('name') ?? 'default';
  }

  constructor(ctx, env) {
    super(ctx, env);
    this.storage.migrations = [
      { idMonotonicInc: 1, description: 'counts', sql: 'CREATE TABLE IF NOT EXISTS count (at INTEGER PRIMARY KEY)' },
    ];
  }

  async add(at) {
    await this.storage.runMigrations();
    this.ctx.storage.sql.exec('INSERT INTO count (at) VALUES (?)', at);
    return this.total();
  }

  total() {
    return this.ctx.storage.sql.exec('SELECT count(*) AS total FROM count').one().total;
  }

  async wake(text) {
    await this.alarms.schedule(1, 'rang', text);
  }

  async rang(text) {
    await this.ctx.storage.put('rang', text);
  }

  async onRequest(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/add') return Response.json(await this.add(Number(searchParams.get('at'))));
    if (pathname === '/other') return Response.json(await COUNTER.get('other').add(1));
    if (pathname === '/wake') await this.wake('woken');
    return Response.json({ name: this.name, rang: (await this.ctx.storage.get('rang')) ?? null });
  }
}

export default handler(COUNTER);
