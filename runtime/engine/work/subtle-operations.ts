// crypto.subtle with large inputs, on a thread that may copy them. Uses Node's own implementation; the arguments are
// those of the method.
import { webcrypto } from 'node:crypto';
import type { ThreadReply } from './threads.ts';

const METHODS = [
  'digest',
  'encrypt',
  'decrypt',
  'sign',
  'verify',
  'importKey',
  'unwrapKey',
  'deriveBits',
  'deriveKey',
  'generateKey',
];

export const subtleOperations: Readonly<Record<string, (args: unknown) => Promise<ThreadReply>>> = {
  /** Takes `{method, args}`; returns the result of the method's promise. */
  'subtle.call': async (given) => {
    const { method, args } = given as { method: string; args: unknown[] };
    if (!METHODS.includes(method)) throw new TypeError('The operation is unknown');
    const { subtle } = webcrypto;
    return {
      value: await (subtle[method as 'sign'] as (...parameters: unknown[]) => Promise<unknown>).apply(subtle, args),
    };
  },
};
