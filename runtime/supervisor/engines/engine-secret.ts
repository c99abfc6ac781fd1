// The secret that engines sign sessions and addresses of files with. It follows from AUTH_SECRET, so that all machines
// of an installation have the same and no engine has that one itself; without it, one is made and kept in the data
// folder. A handler apart is given it as ENGINE_SECRET, and never sees AUTH_SECRET.
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { secretProblem } from '#core/process/generated-secrets.ts';
import { secretIn } from '#core/process/secret-file.ts';

/** @throws {Error} for an AUTH_SECRET or ENGINE_SECRET that is weak. */
export function engineSecret(environment: Readonly<Record<string, string | undefined>>, folder: string): string {
  const given = (name: string): string => {
    const value = environment[name]?.trim() ?? '';
    const problem = value === '' ? null : secretProblem(name, value);
    if (problem !== null) throw new Error(problem);
    return value;
  };
  const own = given('ENGINE_SECRET');
  if (own !== '') return own;
  const secret = given('AUTH_SECRET');
  return createHmac('sha256', secret === '' ? secretIn(join(folder, 'secret')) : secret)
    .update('engine')
    .digest('hex');
}
