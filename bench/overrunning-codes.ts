// Code that keeps V8 busy for long without a break, by name; each is run by one request. The results are kept, because
// the bundler removes unused values. Used by overruns.bench.ts.
import { bytesText, section, tableOf, wasmModule } from '../test/setup/wasm-bytes.ts';

const SPARSE = 'const a = []; a[2 ** 32 - 2] = 1;';
const LIKE = 'const a = { length: 2 ** 53 - 1 };';
const i32 = 0x7f;
const oneMemory = { before: section(5, [1, 0, 0x80, 0x08]) };

/** Functions in WebAssembly, run with so many arguments. */
function wasm(bytes: readonly number[], ...given: number[]): string {
  return `new WebAssembly.Instance(new WebAssembly.Module(${bytesText(bytes)})).exports[0](${given.join()});`;
}

/** `loop ... br 0 end` */
function endless(...body: number[]): number[] {
  return [0x03, 0x40, ...body, 0x0c, 0x00, 0x0b];
}

const methods = (name: string, where: string, parameters = ''): string =>
  `${where} Array.prototype.${name}.call(a${parameters === '' ? '' : `, ${parameters}`});`;

const onSparse: Readonly<Record<string, string>> = {
  at: '',
  concat: '[1]',
  copyWithin: '1, 0',
  entries: '',
  every: '() => true',
  fill: '1',
  filter: '() => true',
  find: '() => false',
  findLast: '() => false',
  flat: '',
  flatMap: '(x) => x',
  forEach: '() => {}',
  includes: '2',
  indexOf: '2',
  join: '',
  lastIndexOf: '2',
  map: '(x) => x',
  reduce: '(x) => x',
  reverse: '',
  shift: '',
  slice: '1',
  some: '() => false',
  sort: '',
  splice: '0, 1',
  toReversed: '',
  toSorted: '',
  toSpliced: '0, 1',
  toString: '',
  toLocaleString: '',
  unshift: '1',
  with: '0, 1',
};

export const codes: Readonly<Record<string, string>> = {
  'for (;;)': 'for (;;);',
  'String of a sparse array': `${SPARSE} globalThis.kept = String(a);`,
  ...Object.fromEntries(
    Object.entries(onSparse).map(([name, given]) => [`sparse array, ${name}`, methods(name, SPARSE, given)]),
  ),
  ...Object.fromEntries(
    Object.entries(onSparse).map(([name, given]) => [`{ length: 2 ** 53 - 1 }, ${name}`, methods(name, LIKE, given)]),
  ),
  'Array.from of a length': 'globalThis.kept = Array.from({ length: 2 ** 32 - 1 });',
  'Math.max.apply of a sparse array': `${SPARSE} globalThis.kept = Math.max.apply(null, a);`,
  'Reflect.apply of a length': 'Reflect.apply(Math.max, null, { length: 2 ** 32 - 1 });',
  'spread of a sparse array': `${SPARSE} globalThis.kept = [...a];`,
  'JSON.stringify of a sparse array': `${SPARSE} globalThis.kept = JSON.stringify(a);`,
  'JSON.stringify with a sparse array as replacer': `${SPARSE} globalThis.kept = JSON.stringify({}, a);`,
  'String.raw of a sparse array': `${SPARSE} globalThis.kept = String.raw({ raw: a });`,
  'new Array of a length, sort': 'globalThis.kept = new Array(2 ** 32 - 1).sort();',
  'new Array of a length, forEach': 'new Array(2 ** 32 - 1).forEach(() => {});',
  'a length that a prototype has, lastIndexOf':
    'Array.prototype.lastIndexOf.call(Object.create({ length: 2 ** 53 - 1 }), 1);',
  '{ length: 2 ** 32 - 1 }, toSorted': 'globalThis.kept = Array.prototype.toSorted.call({ length: 2 ** 32 - 1 });',
  'structuredClone of a sparse array': `${SPARSE} structuredClone(a);`,
  'Object.keys of a sparse array': `${SPARSE} globalThis.kept = Object.keys(a);`,
  'for in over a sparse array': `${SPARSE} for (const key in a);`,
  'new Set of a sparse array': `${SPARSE} globalThis.kept = new Set(a);`,
  'new Uint8Array of a length': 'globalThis.kept = new Uint8Array({ length: 2 ** 27 });',
  'Uint8Array.from of a length': 'globalThis.kept = Uint8Array.from({ length: 2 ** 26 });',
  'a long loop over view.fill': 'const view = new Uint8Array(1e7); for (let i = 0; i < 1e6; i++) view.fill(i);',
  'a long loop over view.indexOf': 'const view = new Uint8Array(5e7); for (let i = 0; i < 1e6; i++) view.indexOf(1);',
  'typed array sort':
    'const view = new Float64Array(1e7); for (let i = 0; i < 1e7; i++) view[i] = Math.random(); view.sort();',
  'array sort, text': 'const a = []; for (let i = 0; i < 2e6; i++) a.push(String((i * 48271) % 2147483647)); a.sort();',
  'text indexOf, worst case': `const text = 'a'.repeat(2e7); for (let i = 0; i < 100; i++) text.indexOf('a'.repeat(1000) + 'b');`,
  'text lastIndexOf, worst case': `'a'.repeat(5e7).lastIndexOf('b' + 'a'.repeat(20000));`,
  'text split': `for (let i = 0; i < 50; i++) 'a,'.repeat(1e6).split(',');`,
  'text replaceAll': `for (let i = 0; i < 20; i++) 'ab'.repeat(5e6).replaceAll('a', 'c');`,
  'text replaceAll, worst case': `('a'.repeat(2e7)).replaceAll('a'.repeat(10000) + 'b', 'c');`,
  'text normalize': `('e\\u0301x').repeat(8e6).normalize('NFKC');`,
  'text normalize, long runs': `('\\u0301\\u0316').repeat(3e6).normalize('NFC');`,
  'text toLocaleUpperCase': `('i\\u0307').repeat(2e7).toLocaleUpperCase('lt');`,
  'text localeCompare': `const text = '\\u0301\\u0316'.repeat(5e6); text.localeCompare(text + 'a', 'de', { numeric: true });`,
  'text padEnd': `for (let i = 0; i < 50; i++) 'a'.padEnd(5e7, 'bcd').charCodeAt(4e7);`,
  encodeURIComponent: `for (let i = 0; i < 50; i++) encodeURIComponent('\\u20ac'.repeat(3e6));`,
  'text concatenated deep': `let text = 'ab'; for (let i = 0; i < 5e6; i++) text = text + 'c'; /z/.test(text);`,
  'regular expression, backtracking': `/^(a+)+$/.test('a'.repeat(60) + 'b');`,
  'regular expression, v flag': `/^(?:[\\p{L}--[b]]+)+$/v.test('a'.repeat(60) + '1');`,
  'regular expression, lookbehind': `/(?<=^(a+)+)b/.test('a'.repeat(60) + 'c');`,
  'regular expression, i and u': `/^(\\u00e9+)+$/iu.test('\\u00c9'.repeat(60) + 'b');`,
  'regular expression, back reference': `/^(a*)*\\1b$/.test('a'.repeat(200000));`,
  'regular expression, quadratic': `/a*b/.test('a'.repeat(2e6));`,
  'regular expression, replace': `'a'.repeat(1e5).replace(/a*b/g, '');`,
  'regular expression, to compile': `new RegExp('(?:' + 'a|b'.repeat(2e6) + ')').test('c');`,
  'regular expression, classes to compile': `new RegExp('[' + Array.from({ length: 2e5 }, (_, i) => String.fromCodePoint(0x10000 + i * 4)).join('') + ']', 'iu').test('c');`,
  'BigInt products': 'let n = 3n; for (;;) n = (n * n) % (2n ** 2_000_000n - 1n);',
  'BigInt power': 'globalThis.kept = 3n ** 20_000_000n;',
  'BigInt to text': 'globalThis.kept = (1n << 100_000_000n).toString();',
  'BigInt of text': `globalThis.kept = BigInt('7'.repeat(5e7));`,
  'BigInt quotient': 'globalThis.kept = (1n << 100_000_000n) / ((1n << 50_000_000n) - 1n);',
  'BigInt to localized text': '(1n << 5_000_000n).toLocaleString();',
  'JSON.parse': `JSON.parse('[' + '[1,2,3,"text"],'.repeat(2e6) + '0]');`,
  'JSON.parse of a long number': `JSON.parse('1' + '0'.repeat(5e7));`,
  'Number of a long text': `globalThis.kept = Number('1'.repeat(1e8));`,
  'Date.parse of a long text': `globalThis.kept = Date.parse('('.repeat(5e7));`,
  'new Function of a long text': `globalThis.kept = new Function('a();'.repeat(1e7));`,
  'new Function, nested': `globalThis.kept = new Function('return ' + '['.repeat(1e5) + ']'.repeat(1e5));`,
  'a chain of proxies': 'let p = {}; for (let i = 0; i < 3000; i++) p = new Proxy(p, {}); for (;;) p.x;',
  'a chain of prototypes, in': `let p = {}; for (let i = 0; i < 1e6; i++) p = Object.create(p); for (let i = 0; i < 1e5; i++) 'x' in p;`,
  'a chain of bound functions': 'let f = () => 1; for (let i = 0; i < 1e6; i++) f = f.bind(null); f();',
  'stacks of errors':
    'Error.stackTraceLimit = Infinity; function f(n) { if (n > 0) return f(n - 1); for (let i = 0; i < 1e6; i++) new Error().stack; } f(5000);',
  'Array concat': 'const a = new Array(3e6).fill(1); for (let i = 0; i < 1e4; i++) [].concat(a);',
  'Atomics.wait': 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);',
  'Atomics.waitAsync': 'const a = new Int32Array(new SharedArrayBuffer(4)); for (;;) Atomics.waitAsync(a, 0, 0);',
  'Atomics.notify of many':
    'const a = new Int32Array(new SharedArrayBuffer(4)); for (let i = 0; i < 2e5; i++) Atomics.waitAsync(a, 0, 0); Atomics.notify(a, 0);',
  'Intl.Segmenter, containing': `const segments = new Intl.Segmenter('th', { granularity: 'word' }).segment('\\u0e2a'.repeat(2e6)); segments.containing(1e6);`,
  'Intl.Segmenter, word without end': `for (const x of new Intl.Segmenter('ja', { granularity: 'word' }).segment('\\u3042'.repeat(5e6)));`,
  'Intl.Segmenter, one long cluster': `for (const x of new Intl.Segmenter().segment('\\u0301'.repeat(3e7)));`,
  'Intl.NumberFormat of a BigInt': 'new Intl.NumberFormat().format(10n ** 3_000_000n);',
  'Intl.NumberFormat of a text': `new Intl.NumberFormat().format('1' + '0'.repeat(1e7));`,
  'Intl.Collator compare': `const text = '\\u0301\\u0316'.repeat(5e6); new Intl.Collator('de').compare(text, text + 'a');`,
  'Intl.ListFormat': `new Intl.ListFormat('de').format(Array.from({ length: 1e6 }, () => 'a'));`,
  'Intl.Locale of a long text': `new Intl.Locale('en-u-' + 'abc-'.repeat(1e6) + 'abc');`,
  'Intl.getCanonicalLocales': `Intl.getCanonicalLocales(Array.from({ length: 1e5 }, (_, i) => 'en-x-' + i.toString(36)));`,
  'Intl.DateTimeFormat made again': `for (;;) new Intl.DateTimeFormat('zh-u-ca-chinese', { dateStyle: 'full' }).format(0);`,
  Temporal: `if (typeof Temporal === 'undefined') return new Response('not there');`,
  'wasm, a loop': wasm(wasmModule([endless()])),
  'wasm, loops without a check between': wasm(wasmModule([endless(0x41, 0, 0x45, 0x04, 0x40, 0x0c, 0x01, 0x0b)])),
  'wasm, a loop of 2 ** 62 turns': wasm(
    wasmModule(
      [
        [
          0x03, 0x40, 0x20, 0, 0x42, 1, 0x7c, 0x22, 0, 0x42, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xc0, 0,
          0x53, 0x0d, 0, 0x0b,
        ],
      ],
      { locals: [1, 1, 0x7e] },
    ),
  ),
  'wasm, calls': wasm(wasmModule([endless(0x10, 1), []])),
  'wasm, recursion by two': wasm(
    wasmModule(
      [[0x20, 0, 0x45, 0x04, 0x40, 0x0f, 0x0b, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0]],
      { type: [[i32], []] },
    ),
    60,
  ),
  'wasm, call_indirect': wasm(wasmModule([endless(0x41, 1, 0x11, 0, 0), []], tableOf([0, 1]))),
  'wasm, return_call': wasm(wasmModule([[0x12, 0]])),
  'wasm, memory.fill': wasm(
    wasmModule([endless(0x41, 0, 0x41, 1, 0x41, 0x80, 0x80, 0x80, 0x20, 0xfc, 0x0b, 0)], oneMemory),
  ),
  'wasm, memory.copy': wasm(
    wasmModule([endless(0x41, 0, 0x41, 1, 0x41, 0x80, 0x80, 0x80, 0x1f, 0xfc, 0x0a, 0, 0)], oneMemory),
  ),
  'wasm, table.fill': wasm(
    wasmModule([endless(0x41, 0, 0xd0, 0x70, 0x41, 0xc0, 0x84, 0x3d, 0xfc, 0x11, 0)], {
      before: section(4, [1, 0x70, 0, 0xc0, 0x84, 0x3d]),
    }),
  ),
  'wasm, array.new in a loop': wasm([
    0,
    97,
    115,
    109,
    1,
    0,
    0,
    0,
    ...section(1, [2, 0x60, 0, 0, 0x5e, 0x7f, 1]),
    ...section(3, [1, 0]),
    ...section(7, [1, 1, 48, 0, 0]),
    ...section(10, [1, 15, 0, 0x03, 0x40, 0x41, 0xc0, 0x84, 0x3d, 0xfb, 0x07, 1, 0x1a, 0x0c, 0, 0x0b, 0x0b]),
  ]),
  'wasm, exceptions': wasm(
    wasmModule([endless(0x02, 0x40, 0x1f, 0x40, 1, 2, 0, 0x08, 0, 0x0b, 0x0b)], { before: section(13, [1, 0, 0]) }),
  ),
  'wasm, atomics': wasm(wasmModule([endless(0x41, 0, 0x41, 1, 0xfe, 0x1e, 2, 0, 0x1a)], oneMemory)),
  // 2,500,000 times `i32.const 0, drop`.
  'wasm, a long function to compile': `const leb = (n) => { const out = []; for (; n >= 128; n = Math.floor(n / 128)) out.push((n % 128) + 128); return [...out, n]; };
    const body = new Uint8Array(7_500_000); for (let at = 0; at < body.length; at += 3) body.set([0x41, 0, 0x1a], at);
    const size = leb(body.length + 2);
    const head = [${[0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 48, 0, 0, 10].join()}, ...leb(1 + size.length + body.length + 2), 1, ...size, 0];
    const bytes = new Uint8Array(head.length + body.length + 1); bytes.set(head); bytes.set(body, head.length); bytes[bytes.length - 1] = 0x0b;
    const f = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports[0]; for (let turns = 0; turns < 50; turns++) f();`,
};
