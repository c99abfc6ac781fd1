// The loops of web-api.bench.ts: the same source runs in a worker (workers/web-api.js) and in Node (peers/web-api.mjs).
// Each operation returns a number that depends on its work, and the numbers are added, so that no compiler can omit the
// work; both sides must get the same sum. `path` marks the operations of a usual request.
const ascii = (bytes: number): string =>
  'The quick brown fox, 0123456789. '.repeat(Math.ceil(bytes / 33)).slice(0, bytes);
const encoder = new TextEncoder();
/** Text of at most so many bytes, a third of its characters beyond ASCII: whole characters only. */
const mixed = (bytes: number): string => {
  const text = 'Grüße aus Köln, 東京と大阪 🚀 '.repeat(Math.ceil(bytes / 40));
  return text.slice(0, encoder.encodeInto(text, new Uint8Array(bytes)).read);
};
const decoder = new TextDecoder();
const sizes = [
  ['64 B', 64],
  ['128 B', 128],
  ['1 KB', 1024],
  ['64 KB', 65_536],
] as const;
const texts = [
  ['ASCII', ascii],
  ['other', mixed],
] as const;

const queries = Array.from({ length: 256 }, (_, i) => `name=J%C3%BCrgen+${i}&page=${i}&tag=a&tag=b&q=caf%C3%A9`);
const item = (i: number): object => ({
  id: i,
  name: `item ${i}`,
  tags: ['a', 'b'],
  price: i / 4,
  nested: { ok: i % 2 === 0, none: null },
});
const thousand = Array.from({ length: 1000 }, (_, i) => item(i));
const small = { ...item(1), tags: ['a', 'b'], when: new Date(0), map: new Map([['a', 1]]) };
const kilobyte = encoder.encode(ascii(1024));
const jsonText = JSON.stringify({ message: 'Hello', items: [1, 2, 3], nested: { path: 'a/b', ok: true, none: null } });
const boundary = 'bench-3f8a21c0';
const multipart = encoder.encode(
  Array.from({ length: 5 }, (_, i) => {
    const file = i < 2 ? '' : `; filename="f${i}.txt"\r\ncontent-type: text/plain`;
    return `--${boundary}\r\ncontent-disposition: form-data; name="part${i}"${file}\r\n\r\n${ascii(1024)}\r\n`;
  }).join('') + `--${boundary}--\r\n`,
);
const multipartType = `multipart/form-data; boundary=${boundary}`;
const latin = atob(btoa(ascii(768)));
const base64 = btoa(latin);

function chunks(count: number): ReadableStream<Uint8Array> {
  let left = count;
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(kilobyte);
      else controller.close();
    },
  });
}

function sink(total: { bytes: number }): WritableStream<Uint8Array> {
  return new WritableStream({
    write(chunk) {
      total.bytes += chunk.byteLength;
    },
  });
}

const request = (init: RequestInit): Request => new Request('https://shop.example.com/orders?page=2', init);
const json = { 'content-type': 'application/json' };

type Operation = (i: number) => number | Promise<number>;

/** One row of the table. */
interface Loop {
  readonly name: string;
  readonly path?: boolean;
  operation(): Operation;
}

/** `operation` makes what the loop calls; rare APIs are touched only when their loop runs. */
export const loops: readonly Loop[] = [
  {
    name: 'new URL, constant',
    path: true,
    operation: () => () => new URL('https://shop.example.com/items/42?page=2#top').pathname.length,
  },
  {
    name: 'new URL, varying',
    path: true,
    operation: () => (i) => new URL(`https://shop${i % 7}.example.com/items/${i}?page=${i & 15}#part`).search.length,
  },
  {
    name: 'new URL, relative',
    path: true,
    operation: () => (i) => new URL(`../lists/./${i}/view?at=top`, 'https://shop.example.com/a/b/c').href.length,
  },
  {
    name: 'URLSearchParams',
    path: true,
    operation: () => (i) => {
      const query = new URLSearchParams(queries[i & 255]);
      query.set('page', '3');
      return query.get('name')!.length + query.toString().length;
    },
  },
  {
    name: 'Headers round trip',
    path: true,
    operation: () => (i) => {
      const headers = new Headers({ 'Content-Type': 'text/html', 'X-Request-Id': String(i & 255), Accept: '*/*' });
      headers.set('cache-control', 'no-store');
      headers.append('accept', 'text/html');
      let sum = headers.get('CONTENT-TYPE')!.length + (headers.has('cookie') ? 1 : 0);
      for (const [name, value] of headers) sum += name.length + value.length;
      return sum;
    },
  },
  {
    name: 'Request + Response, text',
    path: true,
    operation: () => async () => {
      const text = await request({ method: 'POST', body: 'Hello World' }).text();
      const response = new Response(text, { headers: { 'content-type': 'text/plain' } });
      return response.status + (await response.text()).length;
    },
  },
  {
    name: 'Request + Response, JSON',
    path: true,
    operation: () => async () => {
      const value = await request({ method: 'POST', body: jsonText, headers: json }).json();
      return ((await Response.json(value).json()) as { items: number[] }).items.length;
    },
  },
  {
    name: 'Request + Response, bytes 1 KB',
    path: true,
    operation: () => async () => {
      const bytes = await request({ method: 'POST', body: kilobyte }).arrayBuffer();
      return (await new Response(bytes).bytes()).byteLength;
    },
  },
  ...texts.flatMap(([kind, text]) =>
    sizes.map(([size, bytes]) => ({
      name: `TextEncoder, ${kind} ${size}`,
      path: true,
      operation: () => {
        const value = text(bytes);
        return () => encoder.encode(value).byteLength;
      },
    })),
  ),
  ...texts.flatMap(([kind, text]) =>
    sizes.map(([size, bytes]) => ({
      name: `TextDecoder, ${kind} ${size}`,
      path: true,
      operation: () => {
        const value = encoder.encode(text(bytes));
        return () => decoder.decode(value).length;
      },
    })),
  ),
  {
    name: 'ReadableStream pipe, 100 chunks',
    operation: () => async () => {
      const total = { bytes: 0 };
      await chunks(100).pipeTo(sink(total));
      return total.bytes;
    },
  },
  {
    name: 'TransformStream, 100 chunks',
    operation: () => async () => {
      const total = { bytes: 0 };
      const halves = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          controller.enqueue(chunk.subarray(512));
        },
      });
      await chunks(100).pipeThrough(halves).pipeTo(sink(total));
      return total.bytes;
    },
  },
  { name: 'structuredClone, small', operation: () => () => structuredClone(small).tags.length },
  { name: 'structuredClone, 1000 items', operation: () => () => structuredClone(thousand).length },
  ...[sizes[0], sizes[3]].map(([size, bytes]) => ({
    name: `digest SHA-256, ${size}`,
    operation: () => {
      const value = encoder.encode(ascii(bytes));
      return async () => new Uint8Array(await crypto.subtle.digest('SHA-256', value))[3]!;
    },
  })),
  {
    name: 'crypto HMAC sign, 64 B',
    operation: () => {
      const key = crypto.subtle.importKey('raw', new Uint8Array(32), { name: 'HMAC', hash: 'SHA-256' }, false, [
        'sign',
      ]);
      return async () => new Uint8Array(await crypto.subtle.sign('HMAC', await key, kilobyte.subarray(0, 64)))[3]!;
    },
  },
  { name: 'crypto randomUUID', operation: () => () => crypto.randomUUID().length },
  {
    name: 'crypto gzip, 1 KB',
    operation: () => async () =>
      (await new Response(new Blob([kilobyte]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer())
        .byteLength > 0
        ? 1
        : 0,
  },
  {
    name: 'FormData parse, 5 parts of 1 KB',
    path: true,
    operation: () => async () => {
      const form = await request({
        method: 'POST',
        body: multipart,
        headers: { 'content-type': multipartType },
      }).formData();
      return (form.get('part0') as string).length + (form.get('part4') as File).size;
    },
  },
  { name: 'Blob.text, 1 KB', operation: () => async () => (await new Blob([kilobyte]).text()).length },
  { name: 'atob, 1 KB', operation: () => () => atob(base64).length },
  { name: 'btoa, 1 KB', operation: () => () => btoa(latin).length },
  {
    name: 'AbortController',
    operation: () => () => {
      const controller = new AbortController();
      let heard = 0;
      controller.signal.addEventListener('abort', () => heard++);
      controller.abort();
      return heard + (controller.signal.aborted ? 1 : 0);
    },
  },
  {
    name: 'Event dispatch',
    operation: () => {
      const target = new EventTarget();
      let heard = 0;
      target.addEventListener('ping', (event) => (heard = event.type.length));
      return () => {
        target.dispatchEvent(new Event('ping'));
        return heard;
      };
    },
  },
  {
    name: 'URLPattern exec',
    operation: () => {
      const pattern = new URLPattern({ pathname: '/items/:id/*' });
      return (i) => pattern.exec(`https://shop.example.com/items/${i & 255}/view/all`)!.pathname.groups['id']!.length;
    },
  },
  { name: 'await of a resolved promise', path: true, operation: () => async (i) => await Promise.resolve(i & 3) },
];

/** How many operations the sum that both sides must agree on is of: fits the tables above. */
const CHECKED = 256;
const ready = new Map<number, { run(count: number): number | Promise<number>; count: number }>();

/**
 * One answer to the bench. @param query `loop`: its index; `ms`: at least this long; without it only the sum is asked
 * for.
 */
export async function answer(query: URLSearchParams): Promise<{ sum: number; ns?: number }> {
  const index = Number(query.get('loop') ?? 0);
  let loop = ready.get(index);
  if (loop === undefined) {
    const operation = loops[index]!.operation();
    const run = operation(0) instanceof Promise ? runAsync : runSync;
    ready.set(index, (loop = { run: (count) => run(operation, count), count: 1 }));
  }
  if (!query.has('ms')) return { sum: await loop.run(CHECKED) };
  const msMin = Number(query.get('ms'));
  for (;;) {
    const began = performance.now();
    const sum = await loop.run(loop.count);
    const tookMs = performance.now() - began;
    if (tookMs >= msMin) return { ns: (tookMs * 1e6) / loop.count, sum };
    loop.count = Math.ceil(loop.count * Math.min(10, Math.max(1.3, (msMin * 1.2) / tookMs)));
  }
}

function runSync(operation: Operation, count: number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += operation(i) as number;
  return sum;
}

async function runAsync(operation: Operation, count: number): Promise<number> {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += await operation(i);
  return sum;
}
