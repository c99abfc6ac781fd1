// The secret that engines sign sessions and addresses of files with. It follows from AUTH_SECRET, so that all machines
// of an installation have the same and no engine has that one itself; without it, one is made and kept in the data
// folder. A handler apart is given it as ENGINE_SECRET, and never sees AUTH_SECRET.
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { secretProblem } from '#core/process/generated-secrets.ts';
import { secretIn } from '#core/process/secret-file.ts';

const CHARS_MIN = 16;

/** @throws {Error} for an AUTH_SECRET or ENGINE_SECRET that is too short. */
export function engineSecret(environment: Readonly<Record<string, string | undefined>>, folder: string): string {
  const own = environment['ENGINE_SECRET']?.trim() ?? '';
  const problem = own === '' ? null : secretProblem('ENGINE_SECRET', own);
  if (problem !== null) throw new Error(problem);
  if (own !== '') return own;
  const given = environment['AUTH_SECRET']?.trim() ?? '';
  if (given !== '' && given.length < CHARS_MIN)
    throw new Error(`AUTH_SECRET must have at least ${CHARS_MIN} characters: make one with \`openssl rand -hex 32\``);
  return createHmac('sha256', given === '' ? secretIn(join(folder, 'secret')) : given)
    .update('engine')
    .digest('hex');
}
