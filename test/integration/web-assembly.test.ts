// WebAssembly in isolates: tail calls are refused however a module comes, since V8 ends no endless one; all else that
// V8 compiles is compiled.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { bytesText, section, tableOf, wasmModule } from '#test/setup/wasm-bytes.ts';

const i32 = 0x7f;
/** Calls itself, after a constant that looks like another tail call. */
const endless = wasmModule([[0x41, 0x13, 0x1a, 0x12, 0x00]]);

const ways = `{
  module: async (bytes) => void new WebAssembly.Module(bytes),
  compile: (bytes) => WebAssembly.compile(bytes),
  instantiate: (bytes) => WebAssembly.instantiate(bytes),
  compileStreaming: (bytes) => WebAssembly.compileStreaming(response(bytes)),
  instantiateStreaming: (bytes) => WebAssembly.instantiateStreaming(Promise.resolve(response(bytes))),
  view: (bytes) => WebAssembly.compile(new DataView(new Uint8Array([9, ...bytes, 9]).buffer, 1, bytes.length)),
  shared: (bytes) => { const view = new Uint8Array(new SharedArrayBuffer(bytes.length)); view.set(bytes); return WebAssembly.compile(view); },
  patched: (bytes) => { Object.prototype.get = () => {}; Uint8Array.prototype[Symbol.iterator] = () => [][Symbol.iterator](); try { return WebAssembly.compile(bytes); } finally { delete Object.prototype.get; delete Uint8Array.prototype[Symbol.iterator]; } },
}`;

/** Modules of which each has what others have not, and what its first function gives for 7. */
const valid: Readonly<Record<string, readonly [bytes: readonly number[], result: number]>> = {
  // local.get 0, then constants whose bytes are those of tail calls.
  constants: [
    wasmModule([[0x20, 0, 0x41, 0x12, 0x6a, 0x41, 0x13, 0x6a, 0x41, 0x15, 0x6a]], { type: [[i32], [i32]] }),
    7 + 0x12 + 0x13 + 0x15,
  ],
  doubles: [
    wasmModule([[0x44, 0x12, 0x13, 0x15, 0x12, 0x13, 0x15, 0x12, 0x40, 0x1a, 0x20, 0]], { type: [[i32], [i32]] }),
    7,
  ],
  locals: [wasmModule([[0x20, 0x12]], { type: [[i32], [i32]], locals: [0x02, 0x12, i32, 0x13, 0x7e] }), 0],
  table: [
    wasmModule(
      [
        [0x20, 0, 0x41, 1, 0x11, 0, 0],
        [0x20, 0, 0x41, 1, 0x6a],
      ],
      { type: [[i32], [i32]], ...tableOf([0, 1]) },
    ),
    8,
  ],
  // block (br_table 0 0 0 of the parameter), then the parameter.
  branches: [wasmModule([[0x02, 0x40, 0x20, 0, 0x0e, 2, 0, 0, 0, 0x0b, 0x20, 0]], { type: [[i32], [i32]] }), 7],
  memory: [
    wasmModule([[0x41, 0x12, 0x20, 0, 0x36, 0x02, 0x13, 0x41, 0x12, 0x28, 0x02, 0x13]], {
      type: [[i32], [i32]],
      before: section(5, [1, 0, 1]),
    }),
    7,
  ],
  // i32x4.splat, v128.const, i32x4.add, i32x4.extract_lane 2
  vectors: [
    wasmModule(
      [
        [
          0x20, 0, 0xfd, 0x11, 0xfd, 0x0c, 0x12, 0, 0, 0, 0x13, 0, 0, 0, 0x15, 0, 0, 0, 0, 0, 0, 0, 0xfd, 0xae, 0x01,
          0xfd, 0x1b, 2,
        ],
      ],
      { type: [[i32], [i32]] },
    ),
    7 + 0x15,
  ],
  // memory.fill, memory.copy, table.size, i32.trunc_sat_f32_s
  bulk: [
    wasmModule(
      [
        [
          0x41, 0x12, 0x41, 0, 0x41, 0x13, 0xfc, 0x0b, 0, 0x41, 0, 0x41, 0x12, 0x41, 0x13, 0xfc, 0x0a, 0, 0, 0x20, 0,
          0xfc, 0x10, 0, 0x6a, 0x43, 0, 0, 0x80, 0x3f, 0xfc, 0, 0x6a,
        ],
      ],
      { type: [[i32], [i32]], before: [...section(4, [1, 0x70, 0, 0x12]), ...section(5, [1, 0, 1])] },
    ),
    7 + 0x12 + 1,
  ],
  // try_table (catch_all 0) inside a block.
  exceptions: [wasmModule([[0x02, 0x40, 0x1f, 0x40, 1, 2, 0, 0x0b, 0x0b, 0x20, 0]], { type: [[i32], [i32]] }), 7],
  // try, catch_all, as they once were.
  'old exceptions': [wasmModule([[0x06, 0x40, 0x19, 0x0b, 0x20, 0]], { type: [[i32], [i32]] }), 7],
  // ref.i31, br_on_cast to i31 over any, i31.get_s
  references: [
    wasmModule(
      [[0x02, 0x63, 0x6c, 0x20, 0, 0xfb, 0x1c, 0xfb, 0x18, 0, 0, 0x6e, 0x6c, 0x1a, 0xd0, 0x6c, 0x0b, 0xfb, 0x1d]],
      {
        type: [[i32], [i32]],
      },
    ),
    7,
  ],
  atomics: [
    wasmModule([[0xfe, 0x03, 0, 0x41, 0, 0x20, 0, 0xfe, 0x1e, 0x02, 0x14, 0x1a, 0x41, 0, 0xfe, 0x10, 0x02, 0x14]], {
      type: [[i32], [i32]],
      before: section(5, [1, 0, 1]),
    }),
    7,
  ],
};

let handler: TestHandler;
before(async () => {
  handler = await startHandler({
    ways: `const endless = ${bytesText(endless)};
      const response = (bytes) => new Response(bytes, { headers: { 'content-type': 'application/wasm' } });
      const ways = ${ways};
      export default { async fetch() {
        const said = {};
        for (const name of Object.keys(ways)) {
          try { await ways[name](endless); said[name] = 'compiled'; }
          catch (error) { said[name] = error instanceof WebAssembly.CompileError ? error.message : String(error); }
        }
        return Response.json({ said, validates: WebAssembly.validate(endless) });
      } };`,
    valid: `const valid = { ${Object.entries(valid)
      .map(([name, [bytes]]) => `'${name}': ${bytesText(bytes)}`)
      .join()} };
      export default { async fetch() {
        const said = {};
        for (const [name, bytes] of Object.entries(valid)) {
          try {
            if (!WebAssembly.validate(bytes)) said[name] = 'not valid';
            else said[name] = (await WebAssembly.instantiate(bytes)).instance.exports[0](7);
          } catch (error) { said[name] = String(error); }
        }
        return Response.json(said);
      } };`,
    changing: `const honest = ${bytesText(wasmModule([[0x41, 0x13, 0x1a, 0x10, 0x00]]))};
      const endless = ${bytesText(endless)};
      export default { async fetch() {
        const said = [];
        const change = (bytes) => ({ get builtins() { bytes.set(endless); return []; } });
        for (const compile of [(bytes) => new WebAssembly.Module(bytes, change(bytes)), (bytes) => WebAssembly.compile(bytes, change(bytes)), async (bytes) => (await WebAssembly.instantiate(bytes, {}, change(bytes))).module]) {
          const bytes = honest.slice();
          let module;
          try { module = await compile(bytes); } catch { said.push('refused'); continue; }
          // A call that is no tail call runs out of stack.
          try { new WebAssembly.Instance(module).exports[0](); } catch (error) { said.push(error.name); }
        }
        return new Response(said.join());
      } };`,
    any: `export default { async fetch(request) {
      const bytes = await request.arrayBuffer();
      const module = await WebAssembly.compile(bytes);
      return Response.json([WebAssembly.validate(bytes), WebAssembly.Module.exports(module).length > 0]);
    } };`,
  });
});
after(() => handler.close());

test('a module with tail calls is refused by every way to compile it, by the name of the instruction and its place', async () => {
  const { said, validates } = (await handler.fetch('ways')).json() as {
    said: Record<string, string>;
    validates: boolean;
  };
  const place = endless.lastIndexOf(0x12);
  const names = [
    'module',
    'compile',
    'instantiate',
    'compileStreaming',
    'instantiateStreaming',
    'view',
    'shared',
    'patched',
  ];
  const why = `return_call cannot be used here, since nothing ends an endless one: compile the module without tail calls @+${place}`;
  assert.deepEqual(said, Object.fromEntries(names.map((name) => [name, why])));
  assert.equal(validates, false);
});

test('modules with the same bytes as numbers, places and types run', async () => {
  const expected = Object.fromEntries(Object.entries(valid).map(([name, [, result]]) => [name, result]));
  assert.deepEqual((await handler.fetch('valid')).json(), expected);
});

test('bytes that change while options are read are not compiled', async () => {
  assert.match((await handler.fetch('changing')).text, /^(?:RangeError|refused)(?:,(?:RangeError|refused)){2}$/);
});

test('modules that others have built are compiled', async () => {
  for (const file of ['playwright-core/lib/webp_codec.wasm', 'shiki/dist/onig.wasm']) {
    const body = readFileSync(join(import.meta.dirname, '../../node_modules', file));
    assert.deepEqual((await handler.fetch('any', '/', { method: 'POST', body })).json(), [true, true], file);
  }
});
