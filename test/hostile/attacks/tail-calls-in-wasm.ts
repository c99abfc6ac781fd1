// Endless WebAssembly functions that only ever call in tail position: once V8 has optimized one, it never looks whether
// it is to end, and its thread burns a core until the engine is replaced. By itself, each other, through a table, by a
// reference, with a counter.
import { attacker, type Attack } from '#test/setup/hostile.ts';
import { bytesText, section, tableOf, wasmModule } from '#test/setup/wasm-bytes.ts';

const i32 = 0x7f;
const modules = {
  itself: wasmModule([[0x12, 0x00]]),
  mutual: wasmModule([
    [0x12, 0x01],
    [0x12, 0x00],
  ]),
  counter: wasmModule([[0x20, 0x00, 0x41, 0x01, 0x6a, 0x12, 0x00]], { type: [[i32], []] }),
  table: wasmModule([[0x41, 0x00, 0x13, 0x00, 0x00]], tableOf([0])),
  // The element declares the function that the reference leads to.
  reference: wasmModule([[0xd2, 0x00, 0x15, 0x00]], { elements: section(9, [0x01, 0x03, 0x00, 0x01, 0x00]) }),
};
const names = Object.keys(modules);
const table = names.map((name) => `${name}: ${bytesText(modules[name as keyof typeof modules])}`).join();

export default {
  kind: 'cpu',
  worker: attacker(
    `let exports;
    try { ({ exports } = new WebAssembly.Instance(new WebAssembly.Module(modules[url.searchParams.get('by')]))); }
    catch (error) { return new Response(error.name + ': ' + error.message.split(' ', 1)[0]); }
    for (let turns = 0; turns < 200; turns++) exports[0](turns);
    return new Response('ended');`,
    `const modules = { ${table} };`,
  ),
  attack: async ({ get }) => {
    const answers: string[] = [];
    for (const name of names) answers.push(await get(`/attack?by=${name}`, { waitMs: 60_000 }));
    return answers.join(', ');
  },
  expect: [
    '200 CompileError: return_call',
    '200 CompileError: return_call',
    '200 CompileError: return_call',
    '200 CompileError: return_call_indirect',
    '200 CompileError: return_call_ref',
  ].join(', '),
} satisfies Attack;
