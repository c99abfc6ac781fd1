// Warms up the guest before its snapshot is taken, in a context that is discarded: connects it to a host that does
// nothing, and serves two requests. V8 keeps the bytecode of the code that ran, so that no isolate compiles it again.
import { RecordWriter, toGuest } from '../bridge/protocol.ts';

// This function runs inside the isolate, so only its source text is used. Returns a function to call once all
// microtasks have run.
function warmUp(meta: string, text: string): () => void {
  const scope = globalThis as unknown as Record<
    string,
    (...values: unknown[]) => Record<string, (...values: unknown[]) => unknown>
  >;
  const nothing = (): undefined => undefined;
  async function answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/json') return Response.json({ agent: request.headers.get('user-agent') });
    return new Response('Hello World', { headers: { 'content-type': 'text/plain' } });
  }
  let context: unknown;
  let processBatch: (meta: string, text: string) => void = nothing;
  let flush: (cpuMs: number, unchargedMs: number) => void = nothing;
  const known: Record<string, unknown> = {
    bind: (first: typeof processBatch, second: typeof flush) => {
      processBatch = first;
      flush = second;
    },
    getContext: () => context,
    setContext: (value: unknown) => {
      context = value;
    },
    now: () => 0,
    // Replaces the native URL function: accepts a URL of this host, without query and fragment.
    plainUrl: (text: string, _base: undefined, places: Uint32Array) => {
      places.set([5, 7, 21, 21, text.length, text.length]);
      return text;
    },
    load: () => [0],
    settled: () => [1, { default: { fetch: answer } }],
  };
  const native = new Proxy(known, { get: (target, name) => target[name as string] ?? nothing });
  // V8's own `WebAssembly` does not exist yet.
  (globalThis as unknown as { WebAssembly: unknown }).WebAssembly ??= {};
  const limits = { streamWindowBytes: 1, timersMax: 1, logBytesMax: 1 };
  const connection = scope['connect']!(native, nothing, nothing, {}, limits);
  const config = {
    vars: { NAME: 'value' },
    bindings: {},
    startupCpuMs: 0,
    cpuLimitMs: 0,
    owner: '',
    crashDescriptor: -1,
  };
  connection['load']!(config, undefined, false, undefined);
  processBatch(meta, text);
  return () => flush(0, 0);
}

/** The script, which evaluates to a function that must be called after the microtasks. */
export function warmUpScript(): string {
  const batch = new RecordWriter();
  batch.record(toGuest.start);
  for (const [at, path] of ['/', '/json'].entries()) {
    const url = batch.part(`http://warm.localhost${path}`);
    batch.record(
      toGuest.request,
      at + 1,
      'GET',
      url,
      batch.part('host\0warm.localhost\0user-agent\0none\0'),
      batch.part(null),
    );
  }
  return `(${warmUp.toString()})(${JSON.stringify(batch.meta)}, ${JSON.stringify(batch.text)})`;
}
