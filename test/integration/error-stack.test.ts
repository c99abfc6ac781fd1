// `error.stack` inside of a worker, as what reports errors from there reads it: places of the sources.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;

before(async () => {
  handler = await startHandler({
    places: {
      files: {
        'src/index.ts': `interface Unused { a: string }
import { fail } from './deeper.ts';

const early = new Error('early').stack;
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/early') return Response.json(early);
    if (pathname === '/own') {
      const before = Error.prepareStackTrace;
      Error.prepareStackTrace = (_error, sites) => sites.length;
      const count = new Error('x').stack;
      Error.prepareStackTrace = before;
      const target = {};
      Error.captureStackTrace(target);
      return Response.json([typeof count, Object.keys(Error), target.stack]);
    }
    if (pathname === '/trace') console.trace('here');
    if (pathname === '/many') {
      const count = 2000;
      let length = 0;
      for (let index = 0; index < count; index++) length += new Error(String(index)).stack.length;
      return Response.json(length > 0);
    }
    if (pathname === '/deep') {
      Error.stackTraceLimit = Infinity;
      const down = (left: number): string => (left === 0 ? new Error('deep').stack! : down(left - 1) + '');
      const stack = down(5000);
      return Response.json([stack.length > 50_000, stack.includes('at down (src/index.ts:'), stack.includes('worker.js:')]);
    }
    try {
      fail('seen');
    } catch (error) {
      return Response.json((error as Error).stack);
    }
    return new Response();
  },
};
`,
        'src/deeper.ts': `interface Other { b: number }
export function fail(text: string): never {
  throw new RangeError(text);
}
`,
      },
    },
  });
});
after(() => handler.close());

async function ask(path: string): Promise<unknown> {
  const { status, text } = await handler.fetch('places', path);
  assert.equal(status, 200, `${text} ${JSON.stringify(handler.logs.at(-1))}`);
  return JSON.parse(text);
}

test('the stack of an error that is caught names files and lines of the sources, and no frame of the platform', async () => {
  assert.equal(
    await ask('/'),
    'RangeError: seen\n    at fail (src/deeper.ts:3:9)\n    at Object.fetch (src/index.ts:32:7)',
  );
});

test('so does one that is made while the module loads', async () => {
  assert.equal(await ask('/early'), 'Error: early\n    at src/index.ts:4:15');
});

test('Error.prepareStackTrace can be replaced and put back, and captureStackTrace is mapped too', async () => {
  assert.deepEqual(await ask('/own'), [
    'number',
    ['stackTraceLimit'],
    'Error\n    at Object.fetch (src/index.ts:15:13)',
  ]);
});

test('console.trace begins at its caller', async () => {
  await ask('/trace');
  assert.match(
    handler.logs.map(({ text }) => text).join('\n'),
    /here\n {4}at Object\.fetch \(src\/index\.ts:18:40\)$/m,
  );
});

test('many stacks are read, and of a very long one the first frames are mapped', async () => {
  assert.equal(await ask('/many'), true);
  assert.deepEqual(await ask('/deep'), [true, true, true]);
});
