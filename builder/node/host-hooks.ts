// Where Node's modules reach the host: the guest's hooks for node:crypto and node:zlib. Every argument is checked over
// there. Bundled into workers by node-compat.ts.

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

/** What the host answered, or the error that it told, in this realm. */
function opened(answer: Answer): Answer {
  const { error } = (answer.value ?? {}) as { error?: { name: string; message: string; code?: string } };
  if (error === undefined) return answer;
  throw Object.assign(
    new (constructors[error.name] ?? Error)(error.message),
    error.code === undefined ? {} : { code: error.code },
  );
}

/** Asks the host and waits for it, with the thread standing still. */
export function ask(module: 'crypto' | 'zlib', args: object, parts: readonly ArrayBufferView[] = []): Answer {
  return opened(hooks()[module](args, parts));
}

/** Asks the host without waiting. */
export async function askLater(
  module: 'crypto' | 'zlib',
  args: object,
  parts: readonly ArrayBufferView[] = [],
): Promise<Answer> {
  return opened(await hooks()[`${module}Later`](args, parts));
}

/** Calls back as Node does: never before the caller has gone on. */
export function toCallback<T>(promise: Promise<T>, callback: (error: Error | null, value?: T) => void): void {
  promise.then(
    (value) => callback(null, value),
    (error: Error) => callback(error),
  );
}
