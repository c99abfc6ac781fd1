// Shared WebAssembly memories, made by JavaScript and kept by their buffers alone, and by modules that make one of
// their own.
import { attacker, type Attack } from '#test/setup/hostile.ts';

const module = [0, 97, 115, 109, 1, 0, 0, 0, 5, 5, 1, 3, 1, 128, 8];

export default {
  kind: 'memory',
  worker: attacker(
    `const kept = []; const said = [];
    try { for (let i = 0; i < 100; i++) { const memory = new WebAssembly.Memory({ initial: 1, maximum: 256, shared: true }); memory.grow(255); new Uint8Array(memory.buffer).fill(1); kept.push(memory.buffer); } } catch (error) { said.push(error.name, kept.length <= 4); }
    const bytes = new Uint8Array(${JSON.stringify(module)});
    const ways = [() => new WebAssembly.Module(bytes), () => WebAssembly.compile(bytes), () => WebAssembly.instantiate(bytes.buffer), () => WebAssembly.compileStreaming(new Response(bytes, { headers: { 'content-type': 'application/wasm' } })), () => WebAssembly.instantiate(new DataView(bytes.buffer), {})];
    for (const way of ways) { try { await way(); said.push('made'); } catch (error) { said.push(error.name); } }
    return new Response(said.join(' '));`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '5000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: '200 RangeError true CompileError CompileError CompileError CompileError CompileError',
} satisfies Attack;
