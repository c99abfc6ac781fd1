// A collector for tests: takes `POST /v1/traces` on a real socket and checks every body against OTLP's protobuf mapping
// to JSON: ids in hex, 64-bit numbers as texts, enums as numbers, no field that the messages do not have. What came is
// also told over HTTP, to tests of other processes.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as OTLP says it. */
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

/** What came. */
interface Received {
  readonly spans: OtlpSpan[];
  /** Whose each span is, in their order. */
  readonly owners: string[];
  /** What was wrong with what came. */
  readonly problems: string[];
}

/** A collector. */
export interface OtlpReceiver extends Received {
  readonly url: string;
  readonly services: Set<string>;
  readonly headers: Readonly<Record<string, unknown>>[];
  /** Statuses to answer the next requests with; 200 by default. */
  readonly answers: number[];
  close(): Promise<void>;
}

type Check = (value: unknown, at: string, problems: string[]) => void;

const text: Check = (value, at, problems) => {
  if (typeof value !== 'string') problems.push(`${at} is no text`);
};
const matching =
  (pattern: RegExp, what: string): Check =>
  (value, at, problems) => {
    if (typeof value !== 'string' || !pattern.test(value)) problems.push(`${at} is not ${what}: ${String(value)}`);
  };
const whole =
  (least: number, most: number): Check =>
  (value, at, problems) => {
    if (!Number.isInteger(value) || (value as number) < least || (value as number) > most)
      problems.push(`${at} is no whole number from ${least} to ${most}: ${String(value)}`);
  };
const list =
  (of: Check): Check =>
  (value, at, problems) => {
    if (!Array.isArray(value)) problems.push(`${at} is no list`);
    else for (const [index, item] of value.entries()) of(item, `${at}[${index}]`, problems);
  };
const message =
  (fields: Readonly<Record<string, Check>>, required: readonly string[] = []): Check =>
  (value, at, problems) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      problems.push(`${at} is no message`);
      return;
    }
    for (const [name, field] of Object.entries(value)) {
      const check = fields[name];
      if (check === undefined) problems.push(`${at}.${name} is no field of it`);
      else check(field, `${at}.${name}`, problems);
    }
    for (const name of required) if (!Object.hasOwn(value, name)) problems.push(`${at}.${name} is missing`);
  };

const oneValue: Check = (value, at, problems) => {
  anyValue(value, at, problems);
  if (Object.keys(value ?? {}).length !== 1) problems.push(`${at} has not one value`);
};
const anyValue = message({
  stringValue: text,
  boolValue: (value, at, problems) => {
    if (typeof value !== 'boolean') problems.push(`${at} is no boolean`);
  },
  intValue: matching(/^-?\d{1,19}$/, 'a whole number as text'),
  doubleValue: (value, at, problems) => {
    if (typeof value !== 'number') problems.push(`${at} is no number`);
  },
});
const attributes = list(message({ key: matching(/./, 'a key'), value: oneValue }, ['key', 'value']));
const traceId = matching(/^(?!0{32})[0-9a-f]{32}$/i, 'a trace id');
const spanId = matching(/^(?!0{16})[0-9a-f]{16}$/i, 'a span id');
const nanos = matching(/^\d{19}$/, 'nanoseconds as text');
const dropped = whole(0, 2 ** 32 - 1);
const span = message(
  {
    traceId,
    spanId,
    traceState: text,
    parentSpanId: spanId,
    flags: whole(0, 2 ** 32 - 1),
    name: matching(/./, 'a name'),
    kind: whole(0, 5),
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
    attributes,
    droppedAttributesCount: dropped,
    events: list(message({ timeUnixNano: nanos, name: text, attributes, droppedAttributesCount: dropped })),
    droppedEventsCount: dropped,
    links: list(
      message({ traceId, spanId, traceState: text, attributes, droppedAttributesCount: dropped, flags: dropped }),
    ),
    droppedLinksCount: dropped,
    status: message({ message: text, code: whole(0, 2) }),
  },
  ['traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano'],
);
const scope = message({ name: text, version: text, attributes, droppedAttributesCount: dropped });
const request = message(
  {
    resourceSpans: list(
      message({
        resource: message({ attributes, droppedAttributesCount: dropped }),
        scopeSpans: list(message({ scope, spans: list(span), schemaUrl: text })),
        schemaUrl: text,
      }),
    ),
  },
  ['resourceSpans'],
);

/** What a receiver of another process has got. @param url of it */
export async function receivedAt(url: string): Promise<Received> {
  return (await fetch(url)).json() as Promise<Received>;
}

/** Opens it on a free port of this machine. */
export async function openOtlpReceiver(): Promise<OtlpReceiver> {
  const problems: string[] = [];
  const spans: OtlpSpan[] = [];
  const owners: string[] = [];
  const services = new Set<string>();
  const headers: Readonly<Record<string, unknown>>[] = [];
  const answers: number[] = [];
  const server: Server = createServer((incoming, response) => {
    if (incoming.method === 'GET') {
      response.end(JSON.stringify({ spans, owners, problems }));
      return;
    }
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const status = answers.shift() ?? 200;
      headers.push(incoming.headers);
      if (status === 200) read(Buffer.concat(chunks).toString('utf8'));
      if (incoming.method !== 'POST' || incoming.url !== '/v1/traces')
        problems.push(`${incoming.method} ${incoming.url} is not POST /v1/traces`);
      if (incoming.headers['content-type'] !== 'application/json') problems.push('the content type is not JSON');
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"partialSuccess":{}}');
    });
  });
  function read(body: string): void {
    const value = JSON.parse(body) as {
      resourceSpans: { resource: { attributes: OtlpSpan['attributes'] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
    };
    request(value, 'request', problems);
    for (const { resource, scopeSpans } of value.resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === 'service.name');
      const owner = String(service?.value['stringValue']);
      services.add(owner);
      for (const { spans: some } of scopeSpans) {
        spans.push(...some);
        owners.push(...some.map(() => owner));
        for (const { name, startTimeUnixNano: start, endTimeUnixNano: end } of some)
          if (BigInt(end) < BigInt(start)) problems.push(`${name} ends before it begins`);
      }
    }
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    owners,
    services,
    problems,
    headers,
    answers,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
