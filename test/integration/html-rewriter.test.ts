// HTMLRewriter inside an isolate: loaded on first use, over files, with asynchronous handlers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;

before(async () => {
  handler = await startHandler({
    site: {
      yaml: 'kind: worker\nout: dist\nassets:\n  binding: ASSETS\n  run_worker_first: true\n',
      files: {
        'dist/index.html': `<!doctype html><title>old</title><body>${'<p class="x">text</p>'.repeat(20_000)}<a href="http://old.test/a">a</a></body>`,
        'src/index.ts': `
          const before = Object.getOwnPropertyDescriptor(globalThis, 'HTMLRewriter').writable === true;
          export default { async fetch(request, env) {
            const { pathname } = new URL(request.url);
            if (pathname === '/lazy') return Response.json([before, typeof HTMLRewriter, Object.getOwnPropertyDescriptor(globalThis, 'HTMLRewriter').get === undefined, String(new HTMLRewriter())]);
            if (pathname === '/broken') return new HTMLRewriter().on('p', { element() { throw new Error('in a handler') } }).transform(new Response('<p>'));
            let paragraphs = 0;
            const page = await env.ASSETS.fetch(new URL('/', request.url));
            return new HTMLRewriter()
              .on('title', { async element(element) { await scheduler.wait(1); element.setInnerContent('new & better') } })
              .on('p.x', { element() { paragraphs++ } })
              .on('a[href^="http://old.test"]', { element(element) { element.setAttribute('href', element.getAttribute('href').replace('old', 'new')) } })
              .onDocument({ end(end) { end.append('<!-- ' + paragraphs + ' -->', { html: true }) } })
              .transform(page);
          } };`,
      },
    },
  });
});
after(() => handler.close());

test('a file is rewritten on its way out', async () => {
  const response = await handler.fetch('site');
  assert.equal(response.status, 200);
  assert.equal(response.headers['content-type'], 'text/html; charset=utf-8');
  assert.equal(
    response.text,
    `<!doctype html><title>new &amp; better</title><body>${'<p class="x">text</p>'.repeat(20_000)}<a href="http://new.test/a">a</a></body><!-- 20000 -->`,
  );
});

test('the class looks like any other global, though its script comes with its first use', async () => {
  assert.deepEqual((await handler.fetch('site', '/lazy')).json(), [true, 'function', true, '[object HTMLRewriter]']);
});

test('what a handler throws breaks the response off', async () => {
  await assert.rejects(handler.fetch('site', '/broken'));
});
