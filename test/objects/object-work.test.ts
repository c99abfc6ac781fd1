// Work that an event of a durable object starts and does not await: it goes on after the response.
import { runObjects } from '#test/setup/durable-object-cases.ts';

const source = `
import { DurableObject } from 'cloudflare:workers';
const wait = (ms) => scheduler.wait(ms);
export class Room extends DurableObject {
  done = [];
  waiting = null;
  #other() { return this.env.ROOM.getByName('other'); }
  async fetch(request) {
    const kind = new URL(request.url).pathname.slice(1);
    if (kind === 'done') {
      for (let at = 0; at < 200 && this.done.length === 0; at++) await wait(5);
      return Response.json(this.done);
    }
    if (kind === 'echo') return new Response(request.body);
    if (kind === 'resolve') {
      this.waiting();
      return new Response('resolved');
    }
    if (kind === 'wait') {
      await new Promise((resolve) => (this.waiting = resolve));
      this.run('timer');
      return new Response('waited');
    }
    this.run(kind);
    return new Response('started');
  }
  async run(kind) {
    try {
      this.done.push(await this[kind]());
    } catch (error) {
      this.done.push(String(error));
    }
  }
  async timer() { await wait(20); return 'timer'; }
  async call() { return await this.#other().name(); }
  async calls() { for (let at = 0; at < 5; at++) await this.#other().name(); return 'five'; }
  async hops() { for (let at = 0; at < 100; at++) await null; return await this.#other().name(); }
  async body() {
    const response = await this.#other().fetch('https://x/echo', { method: 'POST', body: 'text' });
    await wait(5);
    return await response.text();
  }
  async stream() {
    const { readable, writable } = new TransformStream();
    const response = await this.#other().fetch('https://x/echo', { method: 'POST', body: readable, duplex: 'half' });
    const writer = writable.getWriter();
    for (const text of ['one ', 'two']) {
      await writer.write(new TextEncoder().encode(text));
      await wait(5);
    }
    writer.close();
    return await response.text();
  }
  async storage() {
    await this.ctx.storage.put('value', 1);
    await wait(5);
    return await this.ctx.storage.get('value');
  }
  async cleared() {
    const timer = setTimeout(() => this.done.push('not cleared'), 5);
    await wait(1);
    clearTimeout(timer);
    await wait(20);
    return 'cleared';
  }
  async fails() { await wait(5); throw new TypeError('too late'); }
  name() { return this.ctx.id.name; }
}
export class Quiet extends DurableObject {
  heard = 0;
  async fetch() {
    setTimeout(() => this.heard++, 5);
    return new Response(String(this.heard));
  }
}`;

const started = (kind: string): string =>
  `const room = env.ROOM.getByName('${kind}'); const said = await (await room.fetch('https://x/${kind}')).text(); return [said, await (await room.fetch('https://x/done')).json()]`;

runObjects(
  'work',
  source,
  { ROOM: 'Room', QUIET: 'Quiet' },
  {
    'a timer': started('timer'),
    'a call': started('call'),
    'calls, one after the other': started('calls'),
    'a call after many turns': started('hops'),
    'the body of a response': started('body'),
    'streams in both directions': started('stream'),
    storage: started('storage'),
    'a timer that is cleared': started('cleared'),
    'an error': started('fails'),
    'a response that another event causes': `
      const room = env.ROOM.getByName('shared');
      const waits = room.fetch('https://x/wait');
      await scheduler.wait(20);
      await (await room.fetch('https://x/resolve')).text();
      return [await (await waits).text(), await (await room.fetch('https://x/done')).json()]`,
    'a timer of each of many events': `
      const quiet = env.QUIET.getByName('a');
      for (let at = 0; at < 20; at++) await (await quiet.fetch('https://x/')).text();
      await scheduler.wait(50);
      return await (await quiet.fetch('https://x/')).text()`,
  },
);
