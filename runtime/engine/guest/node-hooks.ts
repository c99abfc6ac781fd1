// Functions of the guest for the bundled replacements of Node's modules (builder/node) and of `cloudflare:workers` and
// `cloudflare:sockets` (builder/shims), under registered symbols. Tenant code can call them, too, but they do no more
// than the modules, and the host validates every argument.
import { toError } from './calls.ts';
import { currentContext } from './context.ts';
import { currentInvocation } from './invocation.ts';
import { exportsOfWorker } from './execution-context.ts';
import { host, type HostReply } from './host.ts';
import type { Failure } from '../bridge/protocol.ts';
import { useModule } from './modules.ts';
import { safeArray, toJson } from './safe.ts';

/** A host function for which this thread may wait. */
export interface WaitingReference {
  applySyncPromise(self: undefined, parameters: unknown[], options: object): unknown;
}

interface WaitingAnswer extends HostReply {
  readonly cpuMs: number;
  readonly failure?: Failure;
}

// The object has no prototype, because isolated-vm also reads other options, which tenant code could set on
// Object.prototype.
const COPY = Object.freeze({ __proto__: null, arguments: Object.freeze({ __proto__: null, copy: true }) });
const { apply } = Reflect;
const { hasOwn } = Object;
const { call } = Function.prototype;
const copySlice = call.bind(Uint8Array.prototype.slice) as (bytes: Uint8Array) => Uint8Array;

/** Connects `host.callWaiting`. */
export function connectNodeHooks(reference: WaitingReference): void {
  const { applySyncPromise } = reference;
  host.callWaiting = (name, args, parts) => {
    // A tenant's iterator or setter cannot observe this.
    const given = safeArray<unknown>();
    given[0] = currentInvocation()?.id ?? 0;
    given[1] = name;
    given[2] = toJson(args) ?? 'null';
    for (let at = 0; at < parts.length; at++) given[at + 3] = parts[at];
    const reply = apply(applySyncPromise, reference, [undefined, given as unknown[], COPY]) as WaitingAnswer;
    // The CPU of the host is charged to this code.
    const account = currentContext()?.account;
    if (account !== undefined) account.used += reply.cpuMs;
    if (hasOwn(reply, 'failure')) throw toError(reply.failure as Failure);
    return reply;
  };
}

function toParts(given: readonly unknown[]): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < given.length; at++) {
    const part = given[at];
    if (!ArrayBuffer.isView(part)) throw new TypeError('A part must be a view of an ArrayBuffer');
    // Only the bytes of the view cross the bridge, not its whole buffer.
    parts[at] = copySlice(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  }
  return parts;
}

/** Puts the hooks on the global object. */
export function installNodeHooks(global: object, waitUntil: (promise: unknown) => void): void {
  const hooks = Object.freeze({
    crypto: (args: object, parts: readonly unknown[]) => host.callWaiting('node.crypto', args, toParts(parts)),
    cryptoLater: (args: object, parts: readonly unknown[]) => host.call('node.crypto', args, toParts(parts)),
    zlib: (args: object, parts: readonly unknown[]) => host.callWaiting('node.zlib', args, toParts(parts)),
    zlibLater: (args: object, parts: readonly unknown[]) => host.call('node.zlib', args, toParts(parts)),
    tcpConnect: (address: unknown, options: unknown) => useModule('tcp').connect(address, options),
    tcpLookup: (hostname: unknown) => host.call('tcp.lookup', { hostname }),
    tcpOpen: (args: never) => useModule('tcp').open(args),
  });
  const rpc = Object.freeze({
    get exports(): object {
      return exportsOfWorker();
    },
    // The module is not exposed as a whole, because its other functions can open sessions with any host call.
    module: Object.freeze({
      createLocalStub: (value: unknown) => useModule('rpc').createLocalStub(value),
      innerOf(value: unknown) {
        const inner = useModule('rpc').innerOf(value);
        return inner === null ? null : { kind: inner.kind };
      },
    }),
  });
  Object.defineProperty(global, Symbol.for('platform.node'), { value: hooks });
  Object.defineProperty(global, Symbol.for('platform.rpc'), { value: rpc });
  Object.defineProperty(global, Symbol.for('platform.waitUntil'), { value: waitUntil });
}
