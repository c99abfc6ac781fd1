// HTMLRewriter over Node's own Response and streams: what comes through unchanged, what handlers see, and what they can
// change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import createHtmlRewriter from '#runtime/engine/guest/lazy/html-rewriter.ts';
import type { DocumentHandlers, ElementHandlers } from '#runtime/engine/guest/lazy/html/rewriter.ts';
import * as webidl from '#runtime/engine/guest/web/webidl.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

interface Rewriter {
  on(selector: string, handlers: ElementHandlers): Rewriter;
  onDocument(handlers: DocumentHandlers): Rewriter;
  transform(response: Response): Response;
}

const deps = { ReadableStream, Response, TextDecoder, TextEncoder, webidl };
const HTMLRewriter = createHtmlRewriter(deps as never)['HTMLRewriter'] as new () => Rewriter;

/** A document in pieces of so many bytes. */
function inPieces(html: string, size: number): Response {
  const bytes = new TextEncoder().encode(html);
  let at = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(at, (at += size)));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/html' } });
}

const rewrite = (html: string, selector: string, handlers: ElementHandlers): Promise<string> =>
  new HTMLRewriter().on(selector, handlers).transform(new Response(html)).text();

const page = `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" 'http://x/strict.dtd'>
<html lang=de><!-- a comment --><head><title>T &amp; <b>t</title><script>if (a</b>c) "<p>"</script><style>a>b{}</style></head>
<body class="x  y" data-A='1 "2"' hidden>Täxt &uuml; <p>one<p>two<br/><img src=a.png><div />in</div><UL><li>1<li>2</UL></p>
<svg viewBox="0 0 1 1"><path d="M0"/><title>s</title><foreignObject><p>x</p></foreignObject><![CDATA[ <p> ]]></svg>
<textarea><p></textarea></nothing></><!bogus><?php ?> 1 < 2 <a href="x`;

test('a document comes through as it is, however it is cut, with and without handlers that change nothing', async () => {
  const watching = (): Rewriter =>
    new HTMLRewriter()
      .on('*', { element() {}, comments() {}, text() {} })
      .onDocument({ doctype() {}, comments() {}, text() {}, end() {} });
  for (const size of [1, 2, 3, 7, 64, 10_000]) {
    assert.equal(await new HTMLRewriter().transform(inPieces(page, size)).text(), page, String(size));
    assert.equal(await watching().transform(inPieces(page, size)).text(), page, String(size));
  }
});

test('random markup comes through as it is', async () => {
  const random = createSeededRandom();
  const bits = [
    '<',
    '>',
    '</',
    '/>',
    '<!--',
    '-->',
    '<!',
    '<?',
    '<p',
    '<svg>',
    '<math>',
    '</svg>',
    '<script>',
    '</script>',
    '<title>',
    '="',
    "='",
    '"',
    "'",
    '=',
    ' ',
    'a',
    'ü',
    '&amp;',
    '<![CDATA[',
    ']]>',
    '</p>',
    '<br>',
    '-',
    '!doctype',
  ];
  for (let round = 0; round < fuzzRounds(200); round++) {
    const html = random.text(bits, 30);
    const rewriter = new HTMLRewriter().on('*', { element() {}, text() {}, comments() {} });
    assert.equal(
      await rewriter.transform(inPieces(html, 1 + (round % 5))).text(),
      html,
      JSON.stringify({ seed: random.seed, html }),
    );
  }
});

test('an element is read and changed', async () => {
  const seen: unknown[] = [];
  const html = await rewrite(`<A HREF='/x?a=1&amp;b' data-x target=_top>link</A>`, 'a', {
    element(element) {
      seen.push(
        element.tagName,
        element.getAttribute('Href'),
        element.getAttribute('data-x'),
        element.getAttribute('none'),
      );
      seen.push(element.hasAttribute('target'), [...element.attributes], element.namespaceURI, element.removed);
      element.setAttribute('href', '/"y"').setAttribute('rel', 'nofollow').removeAttribute('target');
    },
  });
  assert.deepEqual(seen, [
    'a',
    '/x?a=1&amp;b',
    '',
    null,
    true,
    [
      ['href', '/x?a=1&amp;b'],
      ['data-x', ''],
      ['target', '_top'],
    ],
    'http://www.w3.org/1999/xhtml',
    false,
  ]);
  assert.equal(html, `<a href="/&quot;y&quot;" data-x rel="nofollow">link</A>`);
});

test('content goes before, after and into an element, as text unless it is said to be HTML', async () => {
  const around = await rewrite('<p>in</p>', 'p', {
    element(element) {
      element.before('<1>').before('2', { html: true });
      element.after('a').after('<hr>', { html: true });
      element.prepend('x').prepend('y').append('u').append('v & w');
    },
  });
  assert.equal(around, '&lt;1&gt;2<p>yxinuv &amp; w</p><hr>a');
  const changes: Record<string, (element: Parameters<NonNullable<ElementHandlers['element']>>[0]) => unknown> = {
    '<b>new</b>!': (element) => element.setInnerContent('new'),
    '<b>0<u></u>1</b>!': (element) => element.setInnerContent('<u></u>', { html: true }).prepend('0').append('1'),
    'gone!': (element) => element.replace('gone'),
    '!': (element) => element.remove(),
    '<i>in</i>!': (element) => element.removeAndKeepContent(),
    '<div><i>in</i></div>!': (element) => void (element.tagName = 'DIV'),
    '[]!': (element) => element.before('[').after(']').append('lost').remove(),
  };
  for (const [expected, element] of Object.entries(changes)) {
    assert.equal(await rewrite('<b><i>in</i></b>!', 'b', { element }), expected);
  }
});

test('an empty element has no content and no end', async () => {
  let message = '';
  const html = await rewrite('<br><img/>x', 'br, img', {
    element(element) {
      element.prepend('lost').setInnerContent('lost').before('(').after(')');
      try {
        element.onEndTag(() => {});
      } catch (error) {
        ({ message } = error as Error);
      }
    },
  });
  assert.equal(html, '(<br>)(<img/>)x');
  assert.equal(message, '<img> has no end tag');
});

test('nested elements are each removed and replaced once, and their handlers still see what is not sent', async () => {
  const seen: string[] = [];
  const html = await new HTMLRewriter()
    .on('div', { element: (element) => void element.replace('R') })
    .on('p', { element: (element) => void seen.push(element.tagName) })
    .transform(new Response('a<div>b<div>c<p>d</p></div>e</div>f'))
    .text();
  assert.deepEqual([html, seen], ['aRf', ['p']]);
});

test('end tags are handled when they come', async () => {
  const order: string[] = [];
  const html = await rewrite('<div>a<p>b</p></div>', 'div, p', {
    element(element) {
      element.onEndTag((end) => {
        order.push(end.name);
        end.before('[').after(']');
        if (end.name === 'p') end.name = 'q';
      });
    },
  });
  assert.deepEqual([html, order], ['<div>a<p>b[</q>][</div>]', ['p', 'div']]);
  assert.equal(
    await rewrite('<p>x</p>', 'p', { element: (element) => element.onEndTag((end) => void end.remove()) }),
    '<p>x',
  );
});

test('text comes in pieces, the last one empty, with its references as they are written', async () => {
  const seen: [string, boolean][] = [];
  const html = await new HTMLRewriter()
    .on('p', {
      text(text) {
        seen.push([text.text, text.lastInTextNode]);
        if (text.lastInTextNode) text.before('.');
        else text.replace(text.text.toUpperCase(), { html: true });
      },
    })
    .transform(inPieces('a<p>b &amp;<b>c</b></p>d', 6))
    .text();
  assert.equal(html, 'a<p>B &AMP;.<b>C.</b></p>d');
  assert.equal(seen.filter(([, last]) => last).length, 2);
  assert.equal(
    seen
      .map(([text]) => text)
      .join('|')
      .replaceAll('||', '|'),
    'b |&amp;|c|',
  );
});

test('comments, the doctype and the end of the document are handled', async () => {
  const seen: unknown[] = [];
  const html = await new HTMLRewriter()
    .on('div', { comments: (comment) => void (comment.text = comment.text.toUpperCase()) })
    .onDocument({
      doctype: (doctype) => void seen.push(doctype.name, doctype.publicId, doctype.systemId),
      comments: (comment) => void (comment.text === 'gone' ? comment.remove() : seen.push(comment.text)),
      text: (text) => void (text.text === 'x' && text.after('<')),
      end: (end) => void end.append('<!-- end -->', { html: true }),
    })
    .transform(new Response(`<!doctype HTML SYSTEM "about:legacy-compat"><!--out--><div><!--in--></div><!--gone-->x`))
    .text();
  assert.equal(html, '<!doctype HTML SYSTEM "about:legacy-compat"><!--out--><div><!--IN--></div>x&lt;<!-- end -->');
  assert.deepEqual(seen, ['html', null, 'about:legacy-compat', 'out', 'IN']);
});

test('selectors fit as CSS says', async () => {
  const html =
    '<main id=m class="a b"><p lang=de-AT>1</p><div><p class=b data-x="Value one">2</p><span><p>3</p></span><p>4</p></div><p>5<p>6</main>';
  for (const [selector, texts] of [
    ['*', 'main p div p span p p p p'],
    ['p', '1 2 3 4 5 6'],
    ['P', '1 2 3 4 5 6'],
    ['main > p', '1 5 6'],
    ['div p', '2 3 4'],
    ['main div > p', '2 4'],
    ['main > div span > p', '3'],
    ['p.b', '2'],
    ['.a.b', 'main'],
    ['#m > .b', ''],
    ['#m .b', '2'],
    ['[lang]', '1'],
    ['[lang|=de]', '1'],
    ['[lang="DE-at" i]', '1'],
    ['[lang="DE-at"]', ''],
    ['[data-x^="Val"]', '2'],
    ['[data-x$="one"]', '2'],
    ['[data-x*="ue o"]', '2'],
    ['[data-x~="one"]', '2'],
    ['p:not(.b)', '1 3 4 5 6'],
    ['p:not(div p)', '1 5 6'],
    ['p:first-child', '1 2 3'],
    ['p:nth-child(3)', '4 5'],
    ['main > :nth-child(2n+1)', '1 5'],
    ['p:nth-of-type(2)', '4 5'],
    ['div > p:nth-of-type(even)', '4'],
    ['p:first-of-type', '1 2 3'],
    ['main > p:nth-child(-n+3)', '1 5'],
    ['span, .b', 'main span 2'],
  ] as const) {
    const found: string[] = [];
    await new HTMLRewriter()
      .on('*', { element: (element) => void found.push(`?${element.tagName}`) })
      .on(selector, { element: (element) => void (found[found.length - 1] = element.tagName) })
      .on('p', {
        text: (text) => void (found.at(-1) === 'p' && text.text !== '' && (found[found.length - 1] = text.text)),
      })
      .transform(new Response(html))
      .text();
    const hits = found.filter((name) => !name.startsWith('?')).toSorted();
    if (selector === '*') assert.equal(hits.length, 9);
    else assert.deepEqual(hits, texts.split(' ').filter(Boolean).toSorted(), selector);
  }
  for (const selector of ['p + p', 'p ~ p', 'p:hover', 'p::before', '', '>', 'p:nth-child(x)']) {
    assert.throws(() => new HTMLRewriter().on(selector, {}), { name: 'TypeError' }, selector);
  }
});

test('handlers may take their time, in order, and are called on their object', async () => {
  class Handlers {
    order: string[] = [];
    async element(element: { tagName: string; setAttribute(name: string, value: string): unknown }): Promise<void> {
      await new Promise((resolve) => setImmediate(resolve));
      this.order.push(element.tagName);
      element.setAttribute('n', String(this.order.length));
    }
  }
  const handlers = new Handlers();
  const html = await new HTMLRewriter()
    .on('i', handlers)
    .on('b', handlers)
    .transform(inPieces('<i>1</i><b>2</b><i>3</i>', 4))
    .text();
  assert.equal(html, '<i n="1">1</i><b n="2">2</b><i n="3">3</i>');
  assert.deepEqual(handlers.order, ['i', 'b', 'i']);
});

test('what a handler throws ends the body, and the source with it', async () => {
  let cancelled: unknown;
  const source = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('<p>')),
    cancel: (reason) => void (cancelled = reason),
  });
  const failure = new RangeError('mine');
  const response = new HTMLRewriter()
    .on('p', { element: () => Promise.reject(failure) })
    .transform(new Response(source));
  await assert.rejects(response.text(), failure);
  assert.equal(cancelled, failure);
});

test('a token cannot be used after its handler', async () => {
  let kept: { setAttribute(name: string, value: string): unknown } | undefined;
  await rewrite('<p>', 'p', { element: (element) => void (kept = element) });
  assert.throws(() => kept!.setAttribute('a', 'b'), { name: 'TypeError', message: /no longer available/ });
});

test('names that would break the document are refused', async () => {
  const refused: string[] = [];
  await rewrite('<p><!--x-->', 'p', {
    element(element) {
      for (const attempt of [
        () => element.setAttribute('a b', ''),
        () => element.setAttribute('', ''),
        () => element.setAttribute('a=', ''),
        () => (element.tagName = 'a b'),
        () => (element.tagName = '1'),
      ]) {
        try {
          attempt();
        } catch (error) {
          refused.push((error as Error).name);
        }
      }
    },
    comments(comment) {
      try {
        comment.text = 'a --> b';
      } catch (error) {
        refused.push((error as Error).name);
      }
    },
  });
  assert.deepEqual(
    refused,
    Array.from({ length: 6 }, () => 'TypeError'),
  );
});

test('headers and status stay, the length goes, and other encodings become UTF-8', async () => {
  const bytes = Uint8Array.from([0x3c, 0x70, 0x3e, 0xe4]);
  const response = new HTMLRewriter().transform(
    new Response(bytes, {
      status: 404,
      headers: { 'content-type': 'text/html; charset=iso-8859-1', 'content-length': '4', 'x-a': 'b' },
    }),
  );
  assert.deepEqual(
    [
      response.status,
      response.headers.get('x-a'),
      response.headers.get('content-length'),
      response.headers.get('content-type'),
    ],
    [404, 'b', null, 'text/html; charset=utf-8'],
  );
  assert.equal(await response.text(), '<p>ä');
  assert.equal(new HTMLRewriter().transform(new Response(null, { status: 204 })).status, 204);
  assert.throws(() => new HTMLRewriter().transform('text' as never), { name: 'TypeError' });
});
