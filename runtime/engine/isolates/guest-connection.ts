// Connects the guest of a new isolate to the host, before any tenant's code runs in it. Called by isolate.ts.
import ivm from 'isolated-vm';
import type { OpenedIsolate } from './snapshot-contexts.ts';

/** The guest's functions that the host calls. */
export interface GuestConnection {
  readonly run: ivm.Reference<(...parameters: unknown[]) => void>;
  readonly load: ivm.Reference<(...parameters: unknown[]) => void>;
  readonly compiledForm: ivm.Reference<() => ArrayBuffer | undefined>;
  readonly trim: ivm.Reference<() => void>;
}

/** The host's functions that the guest calls. */
interface HostSide {
  /** Called when an entry has ended. */
  readonly leave: (...parameters: never[]) => void;
  /** A synchronous call. */
  readonly sync: (...parameters: never[]) => unknown;
  /** Makes a call. The isolate's thread waits for the reply. */
  readonly waiting: (...parameters: never[]) => Promise<unknown>;
}

/** Limits that the guest itself enforces. */
interface GuestLimits {
  readonly isolateMemoryMb: number;
  readonly streamWindowBytes: number;
  readonly timersMax: number;
  readonly atomicsWaitMs: number;
  readonly logBytesMax: number;
}

/** Runs on the isolate's thread. @param shown memory in which the native watch shows the running entry. */
export async function connectGuest(
  { functions, connect }: OpenedIsolate,
  snapshotKey: string,
  { isolateMemoryMb, streamWindowBytes, timersMax, atomicsWaitMs, logBytesMax }: GuestLimits,
  shown: Int32Array,
  host: HostSide,
): Promise<GuestConnection> {
  const limits = {
    streamWindowBytes,
    timersMax,
    atomicsWaitMs,
    logBytesMax,
    memoryBytesMax: isolateMemoryMb * 1024 * 1024,
    snapshotKey,
  };
  const connection = (await connect.apply(
    undefined,
    [
      functions.derefInto(),
      new ivm.Callback(host.leave, { ignored: true }),
      new ivm.Callback(host.sync),
      new ivm.Reference(host.waiting),
      new ivm.ExternalCopy(limits).copyInto({ release: true }),
      new ivm.ExternalCopy(shown.buffer).copyInto({ release: true }),
    ],
    { result: { reference: true } },
  )) as unknown as ivm.Reference<Record<string, unknown>>;
  const names = ['run', 'load', 'compiledForm', 'trim'] as const;
  const taken = await Promise.all(names.map((name) => connection.get(name, { reference: true })));
  connect.release();
  connection.release();
  functions.release();
  return Object.fromEntries(names.map((name, at) => [name, taken[at]])) as unknown as GuestConnection;
}
