// Updates of values that are too large to parse on the main thread (bindings/state.ts).
import { applyUpdate, fromJson, parseUpdate } from './update-document.ts';
import type { ThreadReply } from './threads.ts';

export const stateOperations: Readonly<Record<string, (args: unknown, parts: readonly Uint8Array[]) => ThreadReply>> = {
  /** Takes `{update}` and the JSON of the value, or nothing if the key does not exist; returns the new JSON. */
  'state.update': (args, [before]) => {
    const update = parseUpdate((args as { update: unknown }).update);
    const value =
      before === undefined
        ? undefined
        : fromJson(Buffer.from(before.buffer, before.byteOffset, before.byteLength).toString());
    return { parts: [Buffer.from(JSON.stringify(applyUpdate(value, update)))] };
  },
};
