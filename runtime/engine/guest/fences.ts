// Replaces built-ins that would bypass a limit. These are constructors and methods that allocate memory which V8 does
// not count, or counts only afterwards; methods that compile WebAssembly, some of which cannot be interrupted; and
// FinalizationRegistry, whose callbacks V8 runs outside all entries. The replacements look like V8's own: names,
// prototypes, species, subclasses. Installed by main.ts in each isolate, since snapshots cannot contain native
// functions.
import { currentContext, enterContext, type Context, type Native } from './context.ts';
import { requestLimitMs } from './cpu-limits.ts';
import { currentEntry } from './invocation.ts';
import { safeArray } from './safe.ts';
import { reportUncaught } from './web/console.ts';
import { wasmStreaming, type Compiler } from './web/wasm-streaming.ts';

type Wasm = Compiler & { CompileError?: unknown; Memory?: unknown; validate: unknown };
type Constructor = (new (...parameters: never[]) => object) & { prototype: object };

const { apply, construct, defineProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;

// These functions use descriptors without a prototype, and loops over indices, because tenants may have patched
// inherited properties of descriptors and array iteration.

function replace(target: object, name: PropertyKey, value: unknown): void {
  defineProperty(target, name, { __proto__: null, ...getOwnPropertyDescriptor(target, name), value } as object);
}

/** Copies the own properties of one object to another. */
function copyProperties(from: object, to: object): void {
  const keys = ownKeys(from);
  for (let at = 0; at < keys.length; at++)
    defineProperty(to, keys[at]!, { __proto__: null, ...getOwnPropertyDescriptor(from, keys[at]!) } as object);
}

function fence(
  native: Native,
  target: object,
  name: string,
  adapt?: (callback: never) => unknown,
  heldBytes?: number,
  compiles?: boolean,
): void {
  const original = (target as Record<string, Constructor | undefined>)[name];
  if (original === undefined) return;
  const fenced = native.fence(original, adapt, heldBytes, compiles);
  if (fenced === undefined) return;
  copyProperties(original, fenced);
  replace(original.prototype, 'constructor', fenced);
  replace(target, name, fenced);
}

/**
 * Installs the fences on the global object, before any tenant code. The fences of WebAssembly and Intl are created when
 * the object is first read: few workers use them, and each fence costs an isolate 20 us.
 */
export function installFences(native: Native, atomicsWaitMs: number): void {
  const scope = globalThis as unknown as Record<string, object>;
  const wasm = scope['WebAssembly'] as Wasm;
  // These globals are absent while the snapshot is created.
  if (wasm.Memory === undefined) return;
  replace(Atomics, 'wait', boundedWait(native, atomicsWaitMs));
  native.fences(construct, wasm.CompileError);
  for (const name of ['ArrayBuffer', 'SharedArrayBuffer']) fence(native, scope, name);
  fence(native, scope, 'FinalizationRegistry', deferred);
  const buffers = ArrayBuffer.prototype as unknown as Record<string, object>;
  for (const name of ['resize', 'transfer'] as const)
    replace(buffers, name, native.fenceMethod(buffers[name]!, name === 'resize' ? 1 : 0, 0));
  const intl = scope['Intl'] as Record<string, Constructor>;
  native.defineLazy(globalThis, 'WebAssembly', false, () => fenceWasm(native, wasm));
  native.defineLazy(globalThis, 'Intl', false, () => fenceIntl(native, intl));
}

// Both functions run after tenant code, which may have patched any built-in.

function fenceWasm(native: Native, wasm: Wasm): object {
  fence(native, wasm, 'Memory');
  fence(native, wasm, 'Module', undefined, 0, true);
  replace(wasm, 'compile', native.fenceMethod(wasm.compile, 1, 1));
  replace(wasm, 'instantiate', native.fenceMethod(wasm.instantiate, 1, 1));
  replace(wasm, 'validate', native.fenceMethod(wasm.validate, 1, 2));
  copyProperties(wasmStreaming(wasm), wasm);
  return wasm;
}

const KB = 1024;
/**
 * Assumed size of one object of an Intl constructor, since V8 does not count its memory outside the heap. The size is
 * the maximum measured with any locale and options, and at least 16 KB: with tens of thousands of counted objects, an
 * isolate at its limit spends all its time on garbage collection.
 */
const intlBytes = {
  __proto__: null,
  Collator: 16 * KB,
  DateTimeFormat: 160 * KB,
  DisplayNames: 44 * KB,
  DurationFormat: 16 * KB,
  ListFormat: 16 * KB,
  Locale: 16 * KB,
  NumberFormat: 16 * KB,
  PluralRules: 16 * KB,
  RelativeTimeFormat: 16 * KB,
  Segmenter: 16 * KB,
} as unknown as Readonly<Record<string, number>>;
const INTL_NAMES = ownKeys(intlBytes) as string[];
/** Assumed size of segments, and of each iterator over them, in addition to their text. */
const SEGMENTS_BYTES = 16 * KB;

function fenceIntl(native: Native, intl: Record<string, Constructor>): object {
  for (let at = 0; at < INTL_NAMES.length; at++)
    fence(native, intl, INTL_NAMES[at]!, undefined, intlBytes[INTL_NAMES[at]!]);
  const { Locale, Segmenter } = intl;
  const locales = Locale!.prototype as Record<string, unknown>;
  replace(locales, 'maximize', native.fenceMethod(locales['maximize'], 0, 3, intlBytes['Locale']));
  replace(locales, 'minimize', native.fenceMethod(locales['minimize'], 0, 3, intlBytes['Locale']));
  const segmenters = Segmenter!.prototype as Record<string, unknown>;
  replace(segmenters, 'segment', native.fenceMethod(segmenters['segment'], 1, 4, SEGMENTS_BYTES));
  // This function is specific to V8 and in no standard, and it retains each text that it gets.
  delete intl['v8BreakIterator'];
  return intl;
}

/**
 * Limits how long `Atomics.wait` blocks the thread in each entry. No other thread could wake it, so a longer wait would
 * only keep the worker from responding.
 */
function boundedWait(native: Native, entryMsMax: number): typeof Atomics.wait {
  let entry = -1;
  let leftMs = entryMsMax;
  return new Proxy(Atomics.wait, {
    __proto__: null,
    apply(wait: typeof Atomics.wait, self: unknown, given: unknown[]) {
      if (entry !== currentEntry()) {
        entry = currentEntry();
        leftMs = entryMsMax;
      }
      const asked = given[3] === undefined ? leftMs : +(given[3] as number);
      const parameters = safeArray<unknown>();
      for (let at = 0; at < 3; at++) parameters[at] = given[at];
      // Without a valid timeout, `Atomics.wait` waits forever.
      parameters[3] = asked <= leftMs ? asked : leftMs;
      const began = native.now();
      try {
        return apply(wait, self, parameters as ArrayLike<never> as never);
      } finally {
        leftMs -= native.now() - began;
        if (leftMs < 0) leftMs = 0;
      }
    },
  } as ProxyHandler<typeof Atomics.wait>);
}

/** Callbacks of FinalizationRegistry that V8 has called, alternating with their arguments. */
let waiting = safeArray<unknown>();

/** V8 calls this function instead, which only records the call. */
function deferred(callback: (held: unknown) => void): (held: unknown) => void {
  return (held) => {
    if (isOver) return;
    waiting[waiting.length] = callback;
    waiting[waiting.length] = held;
  };
}

/** Whether callbacks are waiting. */
export function hasFinalizers(): boolean {
  return waiting.length > 0;
}

let next = 0;
/** Whether a callback was terminated by its limit: this isolate is then replaced, and runs no more callbacks. */
let isOver = false;

/** Runs the waiting callbacks on a separate account, with the CPU limit of a request. */
export function runFinalizers(): void {
  if (next > 0) {
    isOver = true;
    waiting = safeArray();
    next = 0;
  }
  if (waiting.length === 0) return;
  const context: Context = { account: { used: 0, limit: requestLimitMs() }, stores: null };
  const before = currentContext();
  while (next < waiting.length) {
    const callback = waiting[next] as (held: unknown) => void;
    const held = waiting[next + 1];
    // The callback is removed first, so that it is not called again if it is terminated.
    waiting[next] = waiting[next + 1] = undefined;
    next += 2;
    enterContext(context);
    try {
      apply(callback, undefined, [held]);
    } catch (error) {
      reportUncaught(error, 'Uncaught (in a finalizer)', undefined);
    }
  }
  waiting = safeArray();
  next = 0;
  enterContext(before);
}
