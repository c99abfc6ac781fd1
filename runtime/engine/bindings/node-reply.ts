// What the host halves of node:crypto and node:zlib share: operations by name, and errors that reach the worker as Node
// words them.
import { Fields } from '../work/fields.ts';
import type { HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';

/** One operation by the name the guest asks for. */
export type Operation = (fields: Fields, call: HostCall) => HostReply | Promise<HostReply>;

/**
 * A host call that is a choice of operations. What they throw is told in the reply, in the words and with the code of
 * Node.
 */
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
      // None of Node's: the invocation has no budget for it, or is over.
      if (code === 'cpu_limit_exceeded' || code === 'invocation_ended') throw error;
      return {
        value: {
          error: { name: String(name), message: String(message), ...(typeof code === 'string' ? { code } : {}) },
        },
      };
    }
  };
}
