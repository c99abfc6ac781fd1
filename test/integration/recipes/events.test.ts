// Recipes with messages, schedules and WebSockets.
import assert from 'node:assert/strict';
import type { TestDev } from '#test/setup/dev.ts';
import { recipes, testRecipes } from '#test/setup/recipe-cases.ts';

testRecipes(recipes.events, { chat });

/** Two visitors: what one writes, both see; a third sees it afterwards. */
async function chat(dev: TestDev): Promise<void> {
  assert.match((await dev.fetch('/')).text, /<title>Chat<\/title>/);
  const [ada, bob] = [await visit(dev), await visit(dev)];
  ada.socket.send('Hello');
  assert.deepEqual([await ada.next(), await bob.next()], ['Hello', 'Hello']);
  bob.socket.send('<b>Hi</b>');
  assert.deepEqual([await ada.next(), await bob.next()], ['<b>Hi</b>', '<b>Hi</b>']);
  const cleo = await visit(dev);
  assert.deepEqual([await cleo.next(), await cleo.next()], ['Hello', '<b>Hi</b>']);
  for (const { socket } of [ada, bob, cleo]) socket.close();
}

/** A page with its socket open. */
async function visit(dev: TestDev): Promise<{ socket: WebSocket; next: () => Promise<unknown> }> {
  const socket = new WebSocket(`ws://localhost:${dev.port}/`);
  const waiting: ((data: unknown) => void)[] = [];
  const came: unknown[] = [];
  socket.addEventListener('message', ({ data }) => {
    const take = waiting.shift();
    if (take === undefined) came.push(data);
    else take(data);
  });
  await new Promise((resolve) => {
    socket.addEventListener('open', resolve, { once: true });
  });
  return {
    socket,
    next: () =>
      came.length > 0
        ? Promise.resolve(came.shift())
        : new Promise((resolve) => {
            waiting.push(resolve);
          }),
  };
}
