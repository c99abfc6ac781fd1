// The secret with which engines sign sessions and file URLs. The secret is derived from AUTH_SECRET, so that all
// machines of an installation share it and no engine has AUTH_SECRET itself. Without AUTH_SECRET, a secret is generated
// and stored in the data folder. A separate handler gets it as ENGINE_SECRET, and never sees AUTH_SECRET.
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { secretProblem } from '#core/process/generated-secrets.ts';
import { secretIn } from '#core/process/secret-file.ts';

/** @throws {Error} for a weak AUTH_SECRET or ENGINE_SECRET. */
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
