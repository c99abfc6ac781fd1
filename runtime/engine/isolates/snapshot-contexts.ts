// The two contexts of the guest's snapshot, and which of them an isolate gets. isolated-vm creates a context with
// every isolate, in addition to the requested one, both from the blob's first context. The guest in both would cost
// twice the time and memory (bench/README.md). So the first one is bare, and while the requested context is created,
// the blob's table points to the guest's.
// V8 reads that table whenever it creates a context. All of this happens on the main thread, between two lines of
// `open`.
import ivm from 'isolated-vm';

/** Offsets in a blob of V8 13.6: the number of contexts, the isolate's part, the start of each context. */
const COUNT_AT = 0;
const CONTEXTS_AT = 0x58;
const ISOLATE_AT = 0x60;

/** Offsets of the contexts in a blob: bare, and with the guest. @throws {Error} when this V8 uses another layout. */
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

/** Creates isolates from a blob, which the opener owns from then on. */
export function createOpener(
  blob: ArrayBuffer,
): (options: ivm.IsolateOptions) => { isolate: ivm.Isolate; context: ivm.Context } {
  const { bare, guest } = readContexts(blob);
  let copy = new ivm.ExternalCopy(blob, { transferOut: true });
  return (options) => {
    const isolate = new ivm.Isolate({ ...options, snapshot: copy });
    // The same memory that the isolate holds; nothing is copied.
    const shared = copy.copy({ transferIn: true });
    const table = new DataView(shared);
    try {
      table.setUint32(CONTEXTS_AT, guest, true);
      return { isolate, context: isolate.createContextSync() };
    } finally {
      table.setUint32(CONTEXTS_AT, bare, true);
      copy = new ivm.ExternalCopy(shared, { transferOut: true });
    }
  };
}
