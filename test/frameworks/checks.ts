// What a visitor tries at an app, in dev and deployed; row.ts says what every app answers. Each check throws with what
// it got.
import assert from 'node:assert/strict';
import { openBrowser } from '#test/setup/browser.ts';
import { chromium } from '#cli/tasks/tools/chromium.ts';
import type { CheckName, Row } from './row.ts';
import { filesOf, type Answer, type Visitor } from './visitor.ts';

type CheckedRow = Pick<Row, 'kind' | 'page' | 'second'>;

/** Checks by name. Not in the table: they are tried in production only (`assets`, `browser`). */
export const checks: Readonly<Record<CheckName, (visitor: Visitor, row: CheckedRow) => Promise<void>>> = {
  async page(visitor, { page: at = '/' }) {
    const page = await visitor.get(`${at}?name=Ada`);
    has(page, 200, 'Hello, Ada');
  },
  async api(visitor) {
    const answer = await visitor.get('/api/hello?name=Ada');
    has(answer, 200, '');
    assert.deepEqual(JSON.parse(answer.text), { hello: 'Ada' });
  },
  async stream(visitor) {
    const answer = await visitor.get('/stream', 'first part');
    has(answer, 200, 'second part');
    assert.ok(answer.early !== null, '/stream has no "first part"');
    assert.ok(!answer.early.includes('second part'), '/stream came in one piece');
  },
  async form(visitor) {
    has(await visitor.submit('/form', { name: 'Ada' }), 200, 'Thanks, Ada');
  },
  async missing(visitor) {
    has(await visitor.get('/missing'), 404, '');
  },
  async assets(visitor, { kind, second }) {
    has(await visitor.get('/robots.txt'), 200, 'User-agent');
    const files = filesOf((await visitor.get('/')).text);
    assert.ok(files.length > 0, 'the page names no file');
    for (const file of files) {
      const { status, headers } = await visitor.get(new URL(file, visitor.origin).pathname);
      assert.equal(status, 200, `${file}: ${status}`);
      const type = expectedType(file);
      assert.match(headers['content-type'] ?? '', type, `${file} is ${headers['content-type']}`);
      assert.match(headers['cache-control'] ?? '', /immutable|must-revalidate/, `${file} says nothing of caching`);
    }
    if (kind === 'static') await rules(visitor);
    if (second !== undefined) await cleanAddress(visitor, second);
  },
  async browser(visitor) {
    assert.ok(chromium !== null, 'Chromium is not installed (apt-get install chromium)');
    const browser = await openBrowser(chromium);
    try {
      await browser.open(visitor.origin);
      // A press before the scripts have run is lost: a person would press again.
      await within(
        browser.evaluate(`new Promise((resolve) => {
          const press = () => {
            const button = [...document.querySelectorAll('button')].find((one) => /^clicked \\d+ times$/.test(one.textContent.trim()));
            if (button !== undefined && button.textContent.trim() !== 'clicked 0 times') return resolve();
            button?.click();
            setTimeout(press, 50);
          };
          press();
        })`),
        'the button of the page does not count',
      );
      // Asked for by the browser itself, of every site.
      const complaints = browser.complaints.filter((line) => !line.endsWith('/favicon.ico'));
      assert.ok(complaints.length === 0, `the browser complains: ${complaints.join('; ')}`);
    } finally {
      await browser.close();
    }
  },
};

/** What `_headers` and `_redirects` of a static app say. */
async function rules(visitor: Visitor): Promise<void> {
  const { headers } = await visitor.get('/robots.txt');
  assert.equal(headers['x-robots-tag'], 'noindex', '_headers is not heard');
  const moved = await visitor.get('/old');
  assert.deepEqual([moved.status, moved.headers.location], [301, '/robots.txt'], '_redirects is not heard');
}

/** A page has one address, with or without a slash at its end; the others lead there. */
async function cleanAddress(visitor: Visitor, page: string): Promise<void> {
  const answers = new Map<string, Answer>();
  for (const at of [page, `${page}/`]) answers.set(at, await visitor.get(at));
  const [[own, shown] = ['', null], ...others] = [...answers].filter(([, { status }]) => status === 200);
  assert.ok(shown !== null && others.length === 0, `${page} has ${others.length + (shown === null ? 0 : 1)} addresses`);
  has(shown, 200, 'About');
  answers.delete(own);
  answers.set(`${page}.html`, await visitor.get(`${page}.html`));
  for (const [at, { status, headers }] of answers)
    assert.deepEqual([status, headers.location], [307, own], `${at} does not lead to ${own}`);
}

const BROWSER_MS_MAX = 20_000;

async function within(work: Promise<unknown>, otherwise: string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(otherwise)), BROWSER_MS_MAX);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** React puts empty comments between the texts of an element. */
export function readable(html: string): string {
  return html.replaceAll(/<!--.*?-->/gs, '');
}

function has({ status, text }: Answer, wanted: number, words: string): void {
  const shown = readable(text);
  assert.equal(status, wanted, `${status}: ${start(shown)}`);
  assert.ok(shown.includes(words), `no "${words}" in: ${start(shown)}`);
}

function start(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 300);
}

function expectedType(file: string): RegExp {
  const ending = /\.(\w+)(?:\?.*)?$/.exec(file)?.[1] ?? '';
  if (/^m?js$/.test(ending)) return /javascript/;
  if (ending === 'css') return /^text\/css/;
  if (/^(?:svg|png|ico|jpg|webp)$/.test(ending)) return /^image\//;
  return /./;
}
