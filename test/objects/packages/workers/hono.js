// hono: `upgradeWebSocket` in the worker, and an app inside of an object.
import { Hono } from 'hono';
import { upgradeWebSocket } from 'hono/cloudflare-workers';

export class Room {
  constructor(ctx) {
    this.ctx = ctx;
  }

  #app = new Hono()
    .post('/lines', async (c) => {
      const lines = [...((await this.ctx.storage.get('lines')) ?? []), await c.req.text()];
      await this.ctx.storage.put('lines', lines);
      return c.json(lines);
    })
    .get('/lines', async (c) => c.json((await this.ctx.storage.get('lines')) ?? []));

  fetch(request) {
    return this.#app.fetch(request);
  }

  say(text) {
    return `the room heard ${text}`;
  }
}

const app = new Hono()
  .get(
    '/socket',
    upgradeWebSocket((c) => ({
      async onMessage(event, socket) {
        socket.send(await c.env.ROOM.getByName('lobby').say(event.data));
      },
    })),
  )
  .all('/lines', (c) => c.env.ROOM.getByName('lobby').fetch(c.req.raw));

export default app;
