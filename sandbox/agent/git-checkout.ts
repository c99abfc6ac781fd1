// `gitCheckout`: clones a repository. Credentials are in a file while git runs, so they appear in no process list,
// environment or clone configuration.
import { randomUUID } from 'node:crypto';
import { PlatformError } from '#core/errors.ts';
import { toCheckoutArguments, type Fields } from '#core/sandbox/arguments.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import type { Executions } from './exec.ts';
import type { Paths } from './paths.ts';
import type { SecretFiles } from './secret-files.ts';

const REASON_CHARS_MAX = 1000;

export async function checkOut(
  fields: Fields,
  {
    executions,
    paths,
    secrets,
  }: { readonly executions: Executions; readonly paths: Paths; readonly secrets: SecretFiles },
  gone: AbortSignal,
): Promise<void> {
  const { url, credentials, branch, depth, folder } = toCheckoutArguments(fields);
  const target = await paths.resolve(folder);
  const file = credentials === null ? null : `git-${randomUUID()}`;
  const included = file === null ? null : await secrets.put(file, configuration(url, credentials!));
  const command = [
    'git',
    ...(included === null ? [] : ['-c', `include.path=${included}`]),
    'clone',
    '--quiet',
    ...(branch === null ? [] : ['--branch', branch]),
    ...(depth === null ? [] : ['--depth', String(depth)]),
    '--',
    url,
    target.real,
  ];
  const result = await executions
    .exec({ command, timeoutMs: SANDBOX_LIMITS.commandMsMax, env: environment }, gone)
    .finally(() => (file === null ? null : secrets.remove(file)));
  if (result.success) return;
  const reason = result.timedOut ? 'it took longer than 10 minutes' : result.stderr.trim().slice(-REASON_CHARS_MAX);
  throw new PlatformError('git_failed', { url, reason: reason || `git ended with ${result.exitCode}` });
}

/** Git must not prompt, and may only use safe protocols. */
const environment = { GIT_TERMINAL_PROMPT: '0', GIT_ALLOW_PROTOCOL: 'https:http:file' };

/** The header with the credentials is sent only to the origin of the URL. Credentials do not apply to `file:` URLs. */
function configuration(url: string, credentials: string): string {
  const header = `Authorization: Basic ${Buffer.from(credentials).toString('base64')}`;
  return `[http "${new URL(url).origin}/"]\n\textraHeader = ${header}\n`;
}
