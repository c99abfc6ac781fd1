// The flags of every process that runs isolates: read by the launcher (run.mjs, on any Node from 20) and by code that
// starts an engine. Plain JavaScript because the launcher runs before Node 24 is found. Add no other code to this file.

/**
 * Node and V8 flags, in the order in which they are passed.
 *
 * - `--no-node-snapshot`: isolated-vm needs it.
 * - `--no-wasm-async-compilation`: without it an asynchronous compile inside an isolate never settles.
 * - `--no-concurrent-array-buffer-sweeping`: two threads that allocate and free the same memory wait for each other:
 *   creating a buffer took up to twice as long (`npm run bench web-api`), and some of its CPU was charged to no worker.
 * - `--no-turboshaft-loop-unrolling`: with unrolling, V8 13.6 removes the interrupt check from endless loops around a
 *   short one (`for (;;) kept.push(new Array(20))`), and nothing can end them or what they allocate.
 * - `--wasm-max-mem-pages`: caps each WebAssembly memory at 128 MB (it is outside an isolate's heap limit).
 *
 * Never `--js-base-64`: V8 13.6 ignores the offset of a subarray, so `toBase64()` encodes other bytes of its buffer.
 */
export const nodeFlags = Object.freeze([
  '--no-node-snapshot',
  '--no-wasm-async-compilation',
  '--no-concurrent-array-buffer-sweeping',
  '--no-turboshaft-loop-unrolling',
  '--wasm-max-mem-pages=2048',
  '--disable-warning=ExperimentalWarning',
]);
