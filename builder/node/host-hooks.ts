// Host calls of Node's modules: the guest's hooks for node:crypto and node:zlib. The host validates every argument.
// Bundled into workers by node-compat.ts.

type Answer = { readonly value: unknown; readonly parts: readonly Uint8Array[] };
type Waiting = (args: object, parts: readonly ArrayBufferView[]) => Answer;
type Later = (args: object, parts: readonly ArrayBufferView[]) => Promise<Answer>;

interface Hooks {
  readonly crypto: Waiting;
  readonly cryptoLater: Later;
  readonly zlib: Waiting;
  readonly zlibLater: Later;
}

function hooks(): Hooks {
  const found = (globalThis as Record<symbol, unknown>)[Symbol.for('platform.node')] as Hooks | undefined;
  if (found === undefined) throw new Error('node:crypto and node:zlib need the platform to run on');
  return found;
}

const constructors: Readonly<Record<string, ErrorConstructor>> = { TypeError, RangeError };

/** The host's result, or its error, converted to this realm. */
function opened(answer: Answer): Answer {
  const { error } = (answer.value ?? {}) as { error?: { name: string; message: string; code?: string } };
  if (error === undefined) return answer;
  throw Object.assign(
    new (constructors[error.name] ?? Error)(error.message),
    error.code === undefined ? {} : { code: error.code },
  );
}

/** Calls the host synchronously, which blocks the thread. */
export function ask(module: 'crypto' | 'zlib', args: object, parts: readonly ArrayBufferView[] = []): Answer {
  return opened(hooks()[module](args, parts));
}

/** Calls the host asynchronously. */
export async function askLater(
  module: 'crypto' | 'zlib',
  args: object,
  parts: readonly ArrayBufferView[] = [],
): Promise<Answer> {
  return opened(await hooks()[`${module}Later`](args, parts));
}

/** Invokes a callback as Node does: always asynchronously. */
export function toCallback<T>(promise: Promise<T>, callback: (error: Error | null, value?: T) => void): void {
  promise.then(
    (value) => callback(null, value),
    (error: Error) => callback(error),
  );
}
