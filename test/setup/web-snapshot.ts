// Child process of snapshot.test.ts: bundles all of runtime/engine/guest/web, makes a V8 snapshot of it and
// prints its size, the source's greatest character code and the median time to an isolate with a context, as JSON.
import { join } from 'node:path';
import ivm from 'isolated-vm';
import { rolldown } from 'rolldown';

const globals = join(import.meta.dirname, '../../runtime/engine/guest/web/globals.ts');
const entry = 'web-entry';
const bundle = await rolldown({
  input: entry,
  platform: 'neutral',
  resolve: { mainFields: ['module', 'main'], conditionNames: ['import', 'default'] },
  transform: { target: 'es2024' },
  plugins: [
    {
      name: entry,
      resolveId: (id) => (id === entry ? id : null),
      load: (id) =>
        id === entry ? `import { installGlobals } from ${JSON.stringify(globals)}; installGlobals(globalThis);` : null,
    },
  ],
});
const { output } = await bundle.generate({
  format: 'iife',
  codeSplitting: false,
  minify: {
    compress: true,
    mangle: { toplevel: false, keepNames: { function: true, class: true } },
    codegen: { removeWhitespace: true },
  },
});
await bundle.close();
const { code } = output[0];
const snapshot = ivm.Isolate.createSnapshot([{ code, filename: 'web.js' }], process.argv[2] ?? '');
const times: number[] = [];
for (let round = 0; round < 5; round++) {
  const start = performance.now();
  const isolate = new ivm.Isolate({ snapshot });
  isolate.createContextSync();
  times.push(performance.now() - start);
  isolate.dispose();
}
const isolate = new ivm.Isolate({ snapshot });
const context = isolate.createContextSync();
const answer: unknown = context.evalSync(`
  const response = new Response('Hello', { headers: { 'x-a': '1' } });
  const url = new URL('/b?c=d', 'https://a.test');
  [response.status, response.headers.get('x-a'), url.href, new TextDecoder().decode(new TextEncoder().encode('x'))].join(' ');
`);
console.log(
  JSON.stringify({
    answer,
    sourceKilobytes: Math.round(code.length / 1024),
    highestCharacter: [...code].reduce((highest, character) => Math.max(highest, character.codePointAt(0)!), 0),
    snapshotKilobytes: Math.round((snapshot.copy() as ArrayBuffer).byteLength / 1024),
    isolateMs: times.sort((a, b) => a - b)[2],
  }),
);
