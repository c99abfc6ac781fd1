// A visitor of an app without a browser: sends the Host that the platform routes by, keeps cookies, follows redirects,
// and submits forms as a browser does whose scripts have not loaded.
import { request, type IncomingHttpHeaders } from 'node:http';
import { parseDocument, DomUtils } from 'htmlparser2';

/** An answer. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as it was when it first held the words asked for; null: it never did. */
  readonly early: string | null;
}

/** Who asks an app. */
export interface Visitor {
  readonly origin: string;
  /** Asks once; `upTo` are the words that {@link Answer.early} waits for. */
  get(path: string, upTo?: string): Promise<Answer>;
  /** Fills the first form of a page that posts, sends it, and follows where that leads. */
  submit(path: string, values: Readonly<Record<string, string>>): Promise<Answer>;
}

type Element = ReturnType<typeof DomUtils.getElementsByTagName>[number];

const ANSWER_MS_MAX = 30_000;
const REDIRECTS_MAX = 5;
/** Frameworks answer robots differently: they wait for the whole page. */
const BROWSER = 'Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';

/** @param address where the server listens; `host` of its origin goes into every request. */
export function visitorOf(origin: string, address: { readonly host: string; readonly port: number }): Visitor {
  const cookies = new Map<string, string>();
  const { host } = new URL(origin);

  const ask = (method: string, path: string, headers: Record<string, string>, body: Buffer | null, upTo = '') =>
    new Promise<Answer>((resolve, reject) => {
      const sent = request({
        ...address,
        method,
        path,
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
        headers: {
          host,
          'user-agent': BROWSER,
          accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
          ...(cookies.size > 0 && { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
          ...headers,
          ...(body !== null && { 'content-length': String(body.length) }),
        },
      });
      sent.on('error', reject);
      sent.on('response', (response) => {
        for (const line of response.headers['set-cookie'] ?? []) {
          const [, name, value] = /^([^=;]+)=([^;]*)/.exec(line) ?? [];
          if (name !== undefined) cookies.set(name, value!);
        }
        let text = '';
        let early: string | null = null;
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          if (early === null && upTo !== '' && text.includes(upTo)) early = text;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text, early }));
        response.on('error', reject);
      });
      sent.end(body ?? undefined);
    });

  return {
    origin,
    get: (path, upTo) => ask('GET', path, {}, null, upTo),
    async submit(path, values) {
      const page = await ask('GET', path, {}, null);
      const form = firstForm(page.text);
      if (form === null) throw new Error(`${path} has no form that posts: ${page.status} ${page.text.slice(0, 200)}`);
      const { type, body } = await encoded(form, values);
      let at = new URL(form.action, new URL(path, origin));
      const headers = { 'content-type': type, origin, referer: new URL(path, origin).href };
      let answer = await ask('POST', at.pathname + at.search, headers, body);
      for (let left = REDIRECTS_MAX; answer.status >= 300 && answer.status < 400 && left > 0; left--) {
        at = new URL(answer.headers.location ?? '', at);
        answer = await ask('GET', at.pathname + at.search, {}, null);
      }
      return answer;
    },
  };
}

/** Scripts, styles and images that a page names, without those of other sites. */
export function filesOf(html: string): string[] {
  const document = parseDocument(html);
  const found = DomUtils.getElementsByTagName(
    (name) => ['script', 'link', 'img'].includes(name),
    document,
    true,
  ).flatMap(({ name, attribs }) => {
    if (name !== 'link') return attribs['src'] ?? [];
    return /stylesheet|preload|icon/.test(attribs['rel'] ?? '') ? (attribs['href'] ?? []) : [];
  });
  return [...new Set(found)].filter((file) => !/^(?:[a-z]+:|\/\/)/i.test(file));
}

interface Form {
  readonly action: string;
  readonly multipart: boolean;
  /** Names and values as they stand. */
  readonly fields: ReadonlyMap<string, string>;
}

function firstForm(html: string): Form | null {
  const form = DomUtils.getElementsByTagName('form', parseDocument(html), true).find(
    ({ attribs }) => attribs['method']?.toLowerCase() === 'post',
  );
  if (form === undefined) return null;
  const fields = new Map<string, string>();
  for (const field of DomUtils.getElementsByTagName((name) => name === 'input' || name === 'button', form, true))
    if (field.attribs['name'] !== undefined) fields.set(field.attribs['name'], field.attribs['value'] ?? '');
  const button = submitButton(form);
  return {
    action: button?.attribs['formaction'] ?? form.attribs['action'] ?? '',
    multipart: (button?.attribs['formenctype'] ?? form.attribs['enctype'])?.toLowerCase() === 'multipart/form-data',
    fields,
  };
}

function submitButton(form: Element): Element | undefined {
  return DomUtils.getElementsByTagName('button', form, true)[0];
}

async function encoded(
  { multipart, fields }: Form,
  values: Readonly<Record<string, string>>,
): Promise<{ type: string; body: Buffer }> {
  const filled = Object.entries({ ...Object.fromEntries(fields), ...values });
  if (!multipart)
    return { type: 'application/x-www-form-urlencoded', body: Buffer.from(new URLSearchParams(filled).toString()) };
  const form = new FormData();
  for (const [name, value] of filled) form.append(name, value);
  const encoding = new Response(form);
  return { type: encoding.headers.get('content-type')!, body: Buffer.from(await encoding.arrayBuffer()) };
}
