// `gitCheckout`: clones a repository. Credentials go to git in its environment, so that neither a process list nor the
// clone's configuration has them.
import { PlatformError } from '#core/errors.ts';
import { toCheckoutArguments, type Fields } from '#core/sandbox/arguments.ts';
import { SANDBOX_BOUNDS } from '#core/sandbox/operations.ts';
import type { Executions } from './exec.ts';
import type { Paths } from './paths.ts';

const REASON_CHARS_MAX = 1000;

export async function checkOut(
  fields: Fields,
  { executions, paths }: { readonly executions: Executions; readonly paths: Paths },
  gone: AbortSignal,
): Promise<void> {
  const { url, credentials, branch, depth, folder } = toCheckoutArguments(fields);
  const target = await paths.resolve(folder);
  const command = [
    'git',
    'clone',
    '--quiet',
    ...(branch === null ? [] : ['--branch', branch]),
    ...(depth === null ? [] : ['--depth', String(depth)]),
    '--',
    url,
    target.real,
  ];
  const result = await executions.exec(
    { command, timeoutMs: SANDBOX_BOUNDS.commandMsMax, env: { ...environment, ...authorization(url, credentials) } },
    gone,
  );
  if (result.success) return;
  const reason = result.timedOut ? 'it took longer than 10 minutes' : result.stderr.trim().slice(-REASON_CHARS_MAX);
  throw new PlatformError('git_failed', { url, reason: reason || `git ended with ${result.exitCode}` });
}

/** It asks nobody, and takes no way in that an address could smuggle in. */
const environment = { GIT_TERMINAL_PROMPT: '0', GIT_ALLOW_PROTOCOL: 'https:http:file' };

function authorization(url: string, credentials: string | null): Readonly<Record<string, string>> {
  if (credentials === null) return {};
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${new URL(url).origin}/.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}
