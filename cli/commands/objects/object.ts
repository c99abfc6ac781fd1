// Shared by the commands of `platform objects`: an object, the flag for its class, the error for a missing object.
import { CliError } from '../../terminal/failure.ts';

/** A durable object, as returned by the API. */
export interface DurableObject {
  readonly id: string;
  readonly name: string | null;
  readonly bytes: number;
  readonly activeAt: number;
  readonly alarm: number | null;
  readonly isLive: boolean;
  readonly sockets: number;
}

export const classFlag = {
  class: {
    type: 'string',
    alias: 'c',
    valueHint: 'name',
    description: 'Binding or class of the objects (default: the only one)',
  },
} as const;

/** Replaces the "not found" error of the API with an error that names the object. */
export function noObject(error: unknown, binding: string, object: string): unknown {
  if (!(error instanceof CliError) || error.code !== 'not_found') return error;
  return new CliError(`${binding} has no object ${object}`, { advice: '`platform objects list` lists the objects.' });
}
