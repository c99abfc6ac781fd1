// Creates isolates from the guest's snapshot outside the main thread. One isolate of the platform, the maker, creates
// them on its thread, and transfers them. No tenant's code ever runs in the maker. isolated-vm creates a context with
// every isolate, in addition to the requested one, both from the blob's first context. If both contexts contained the
// guest, time and memory would double (bench/README.md). Therefore the first context is bare, and while the requested
// context is created, the blob's table points to the guest's context. V8 reads this table whenever it creates a
// context, so the maker creates one isolate at a time.
import ivm from 'isolated-vm';

/** Offsets in a blob of V8 13.6: the number of contexts, the isolate's part, the start of each context. */
const COUNT_AT = 0;
const CONTEXTS_AT = 0x58;
const ISOLATE_AT = 0x60;

/** The inputs from which an isolate is created. */
interface OpenOptions {
  /** Heap size in MB. */
  readonly memoryLimit: number;
  readonly native: ivm.NativeModule;
}

/** A new isolate. */
export interface OpenedIsolate {
  readonly isolate: ivm.Isolate;
  /** The context with the guest. */
  readonly context: ivm.Context;
  /** The guest's native functions for this context. */
  readonly functions: ivm.Reference<Record<string, unknown>>;
  /** The guest's function that connects it to its host. */
  readonly connect: ivm.Reference<(...parameters: unknown[]) => unknown>;
}

/**
 * The offsets of the two contexts in a blob: the bare one, and the one with the guest. @throws {Error} when this V8
 * uses another layout.
 */
export function readContexts(blob: ArrayBuffer): { readonly bare: number; readonly guest: number } {
  const view = new DataView(blob);
  const at = (offset: number): number => (offset + 4 <= view.byteLength ? view.getUint32(offset, true) : -1);
  const [bare, guest] = [at(CONTEXTS_AT), at(CONTEXTS_AT + 4)];
  // Each part begins with the same magic number.
  const magic = at(ISOLATE_AT);
  if (at(COUNT_AT) !== 2 || bare <= ISOLATE_AT || guest <= bare || at(bare) !== magic || at(guest) !== magic)
    throw new Error(
      `V8 ${process.versions.v8} lays out its snapshots in a way that is not known: use the Node of package.json`,
    );
  return { bare, guest };
}

type Made = readonly [ivm.Isolate, ivm.Context, OpenedIsolate['functions'], OpenedIsolate['connect']];

// Runs inside the maker; only its source text is used.
function maker(
  lib: typeof ivm,
  blob: ivm.ExternalCopy<ArrayBuffer>,
  at: number,
  bare: number,
  guest: number,
): (memoryLimit: number, native: ivm.NativeModule) => Promise<Made> {
  let copy = blob;
  let before: Promise<unknown> = Promise.resolve();
  // This is the memory that the isolates use, without a copy.
  const point = (context: number): void => {
    const shared = copy.copy({ transferIn: true });
    new DataView(shared).setUint32(at, context, true);
    copy = new lib.ExternalCopy(shared, { transferOut: true });
  };
  const make = async (memoryLimit: number): Promise<[ivm.Isolate, ivm.Context]> => {
    const isolate = new lib.Isolate({ memoryLimit, snapshot: copy });
    point(guest);
    try {
      return [isolate, await isolate.createContext()];
    } finally {
      point(bare);
    }
  };
  return async (memoryLimit, native) => {
    const made = before.then(() => make(memoryLimit));
    before = made.catch(() => {});
    const [isolate, context] = await made;
    const both = [native.create(context), context.global.get('connect', { reference: true })];
    return [isolate, context, ...((await Promise.all(both)) as unknown as [Made[2], Made[3]])];
  };
}

/** Creates isolates from a blob, which the caller must not use afterwards. */
export function createOpener(blob: ArrayBuffer): (options: OpenOptions) => Promise<OpenedIsolate> {
  const { bare, guest } = readContexts(blob);
  const copy = new ivm.ExternalCopy(blob, { transferOut: true });
  const make = new ivm.Isolate({ memoryLimit: MAKER_MB })
    .createContextSync()
    .evalClosureSync(`return (${maker.toString()})($0, $1, $2, $3, $4)`, [ivm, copy, CONTEXTS_AT, bare, guest], {
      result: { reference: true },
    }) as ivm.Reference<(memoryLimit: number, native: ivm.NativeModule) => Promise<Made>>;
  return async ({ memoryLimit, native }) => {
    const made = make.apply(undefined, [memoryLimit, native as never], { result: { promise: true, copy: true } });
    const [isolate, context, functions, connect] = (await made) as unknown as Made;
    return { isolate, context, functions, connect };
  };
}

/** Heap size of the maker, for handles that wait for the garbage collector. */
const MAKER_MB = 64;
