// Shared by the host halves of node:crypto and node:zlib: operations by name, and errors that reach the worker with
// Node's wording.
import { Fields } from '../work/fields.ts';
import type { HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';

/** An operation, by the name that the guest requests. */
export type Operation = (fields: Fields, call: HostCall) => HostReply | Promise<HostReply>;

/** A host call that selects an operation. Exceptions are returned in the reply, with Node's message and code. */
export function operationsCall(operations: Readonly<Record<string, Operation>>): HostFunction {
  return async (call) => {
    try {
      const fields = new Fields(call.args, call.parts);
      const operation = fields.raw('op');
      if (typeof operation !== 'string' || !Object.hasOwn(operations, operation))
        throw new TypeError('The operation is unknown');
      return await operations[operation]!(fields, call);
    } catch (error) {
      const { name, message, code } = error as { name?: unknown; message?: unknown; code?: unknown };
      // This error does not come from Node: the invocation has no budget left, or has ended.
      if (code === 'cpu_limit_exceeded' || code === 'invocation_ended') throw error;
      return {
        value: {
          error: { name: String(name), message: String(message), ...(typeof code === 'string' ? { code } : {}) },
        },
      };
    }
  };
}
