// What the commands of `platform objects` share: the flag for the class, and the error for a missing object.
import { CliError } from '../../terminal/failure.ts';

export const classFlag = {
  class: {
    type: 'string',
    alias: 'c',
    valueHint: 'name',
    description: 'Binding or class of the objects (default: the only one)',
  },
} as const;

/** Replaces "not found" of the API. */
export function noObject(error: unknown, binding: string, object: string): unknown {
  if (!(error instanceof CliError) || error.code !== 'not_found') return error;
  return new CliError(`${binding} has no object ${object}`, { advice: '`platform objects list` lists the objects.' });
}
