// Ways in which code of a worker holds memory, and what an isolate reaches by each: `npm run bench held-memory` prints
// them, test/hostile/attacks/hold-memory-in-many-ways.ts holds them to their bound.
import { setTimeout as delay } from 'node:timers/promises';
import { startPlatform, type TestPlatform } from './platform.ts';
import { residentBytes } from './resident-bytes.ts';
import { bytesText, wasmModule } from './wasm-bytes.ts';

/** A way to hold memory. */
interface Way {
  /** An expression; its values are kept, made again and again, with `n` counting. */
  readonly make: string;
  /** Declarations at the top of the worker. */
  readonly top?: string;
}

/** Of the isolate. */
export const HELD_LIMIT_MB = 128;
/** How much more than a blank isolate one may reach. */
export const HELD_GROWTH_MB_MAX = 200;
/** What an engine may keep of it a second after its end. */
export const HELD_LEFT_MB_MAX = 100;

const emptyModule = bytesText(wasmModule([[]]));
/** A thousand functions of a hundred instructions, so that there is code. */
const largeModule = bytesText(
  wasmModule(Array.from({ length: 40 }, () => Array.from({ length: 100 }, () => [0x41, 0x01, 0x1a]).flat())),
);

/** By name; first those that only fill the heap. */
export const waysToHoldMemory: Readonly<Record<string, Way>> = {
  'arrays of numbers': { make: 'new Array(10_000).fill(n + 0.5)' },
  'objects and maps': { make: `new Map([[n, { n, text: 'text' + n }]])` },
  'long texts': { make: `('x' + n).repeat(10_000).replace('x', 'y')` },
  'texts decoded from bytes': {
    top: 'const bytes = new Uint8Array(500_000).fill(65);',
    make: 'new TextDecoder().decode(bytes)',
  },
  'names of properties': { make: `({ ['name' + n]: 1 })` },
  'large BigInts': { make: '(1n << 80_000n) + BigInt(n)' },
  'functions from text': { make: `new Function('return ' + n)` },
  'errors with stacks': { make: 'new Error(String(n))' },
  'suspended functions': { make: '(async () => { await new Promise(() => {}); })()' },
  proxies: { make: 'new Proxy(() => {}, {})' },
  'weak references': { top: 'const registry = new FinalizationRegistry(() => {});', make: 'registered({})' },
  'typed arrays': { make: 'new Uint8Array(100_000).fill(1)' },
  'buffers of a byte': { make: 'new ArrayBuffer(1)' },
  'shared buffers of a byte': { make: 'new SharedArrayBuffer(1)' },
  'buffers that grow': { make: 'grown(new ArrayBuffer(1, { maxByteLength: 1_000_000 }))' },
  'cloned buffers': { top: 'const buffer = new ArrayBuffer(100_000);', make: 'structuredClone(buffer)' },
  blobs: { make: `new Blob(['x'.repeat(100_000)])` },
  'bodies of requests': { make: `new Request('http://a.example', { method: 'POST', body: 'x'.repeat(100_000) })` },
  streams: { make: 'new ReadableStream({ start(controller) { controller.enqueue(new Uint8Array(1000)); } })' },
  'regular expressions': { make: 'matched(new RegExp(`(a|b|c){1,20}${n}[^x]*y`))' },
  'segmented texts': {
    top: `const segmenter = new Intl.Segmenter('en'); const text = 'x'.repeat(100_000);`,
    make: 'segmenter.segment(text)',
  },
  'iterators of segments': {
    top: `const segments = new Intl.Segmenter('en').segment('x'.repeat(100_000));`,
    make: 'segments[Symbol.iterator]()',
  },
  'number formats': {
    make: `used(new Intl.NumberFormat('de', { style: 'unit', unit: 'kilometer-per-hour', notation: 'compact' }))`,
  },
  'date formats': { make: `used(new Intl.DateTimeFormat('ar', { dateStyle: 'full', timeStyle: 'full' }))` },
  collators: { make: `new Intl.Collator('zh-u-co-stroke', { numeric: true })` },
  locales: { make: `new Intl.Locale('zh-u-ca-buddhist').maximize()` },
  'plural rules': { make: `new Intl.PluralRules('ar', { type: 'ordinal' })` },
  'display names': { make: `new Intl.DisplayNames('zh', { type: 'region' })` },
  'WebAssembly memories': {
    make: 'touched(new WebAssembly.Memory({ initial: 16 }))',
  },
  'WebAssembly tables': { make: `new WebAssembly.Table({ element: 'anyfunc', initial: 10_000 })` },
  'WebAssembly modules': { make: `new WebAssembly.Module(different(${largeModule}))` },
  'WebAssembly code': { make: `called(new WebAssembly.Instance(new WebAssembly.Module(different(${largeModule}))))` },
  'WebAssembly instances': {
    top: `const empty = new WebAssembly.Module(${emptyModule});`,
    make: 'new WebAssembly.Instance(empty)',
  },
  'waits without an end': {
    top: 'const waited = new Int32Array(new SharedArrayBuffer(4));',
    make: 'Atomics.waitAsync(waited, 0, 0)',
  },
  timers: { make: 'setTimeout(() => {}, 1e6)' },
};

const TOP = `
const registered = (object) => { registry.register(object, 1); return object; };
const grown = (buffer) => { buffer.resize(1_000_000); return buffer; };
const matched = (pattern) => { pattern.test('abcabc1'); pattern.test('aab1'); return pattern; };
const used = (format) => { format.format(1e12); return format; };
const touched = (memory) => { new Uint8Array(memory.buffer).fill(1); return memory; };
// A module of its own: V8 keeps one of each content.
const different = (bytes) => { const own = new Uint8Array(bytes.length + 7); own.set(bytes); own.set([0, 5, 1, 110, n & 255, (n >> 8) & 255, n >> 16], bytes.length); return own; };
const called = (instance) => { for (const name of Object.keys(instance.exports)) instance.exports[name](); return instance; };
let n = 0;
const kept = [];
`;

/** A worker that holds memory so under `/hold`, dies of it under `/end`, and answers `blank` elsewhere. */
export function holderOf({ make, top = '' }: Way, holdsMs: number): string {
  return `${TOP}${top}
  export default { fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/end') for (;;) kept.push(new Array(100_000).fill(n + 0.5));
    if (pathname !== '/hold') return new Response('blank');
    const until = performance.now() + ${holdsMs};
    try { while (performance.now() < until) for (let left = 20; left > 0; left--, n++) kept.push(${make}); }
    catch (error) { return new Response(error.name); }
    return new Response('more');
  } };`;
}

/** What a way reached. */
interface Held {
  readonly way: string;
  /** What the requests were answered with, each answer once. */
  readonly answers: string;
  /** How much the engine's resident memory grew at most, and what of it is left a second after the isolate's end. */
  readonly mostMb: number;
  readonly leftMb: number;
}

/** Requests of a way, each of which goes on where the one before stopped. */
const REQUESTS = 4;
const HOLDS_MS = 1500;
const LOOK_MS = 10;

/** Measures ways one after the other, each on a platform of its own. */
export async function* measureHeldMemory(names: readonly string[]): AsyncGenerator<Held> {
  for (const name of names) {
    const platform = await startPlatform(
      { holder: holderOf(waysToHoldMemory[name]!, HOLDS_MS) },
      { WORKER_MEMORY_MB: String(HELD_LIMIT_MB), WORKER_CPU_LIMIT_MS_FREE: '3000', HANDLER_SPARES: '0' },
    );
    try {
      yield { way: name, ...(await measure(platform)) };
    } finally {
      await platform.close();
    }
  }
}

async function measure(platform: TestPlatform): Promise<Omit<Held, 'way'>> {
  const ask = async (path: string): Promise<string> => {
    const { status, headers, text } = await platform.fetch('holder', path);
    return `${status} ${headers['x-platform-error'] ?? text}`;
  };
  await platform.answers('holder', 'blank');
  const { enginePid } = platform;
  const before = residentBytes(enginePid);
  let most = before;
  const watch = setInterval(() => void (most = Math.max(most, residentBytes(enginePid))), LOOK_MS);
  const answers = new Set<string>();
  for (let left = REQUESTS; left > 0; left--) answers.add(await ask('/hold'));
  clearInterval(watch);
  await ask('/end');
  await platform.answers('holder', 'blank');
  await delay(1000);
  const megabytes = (bytes: number): number => Math.round((bytes - before) / 1024 / 1024);
  return { answers: [...answers].join(', '), mostMb: megabytes(most), leftMb: megabytes(residentBytes(enginePid)) };
}
