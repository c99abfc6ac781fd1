// Environment variables for git when it reads a remote: only the remote's protocol, no prompts, no machine-wide
// configuration, no redirects, only the checked address. Credentials are passed by environment and by files that only
// git's user can read, never by arguments, so that they do not appear in process lists.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RemoteSource } from './clone-source.ts';

/**
 * Variables for `git ls-remote` and `git fetch` of a source; PATH is not included.
 *
 * @param folder the folder for the ssh key and known hosts; only its user must be able to read it.
 */
export async function gitEnvironment(source: RemoteSource, folder: string): Promise<Record<string, string>> {
  const { hostname, port, protocol } = new URL(source.url);
  const settings: [string, string][] = [
    ['http.followRedirects', 'false'],
    ['credential.helper', ''],
    ['core.hooksPath', '/dev/null'],
  ];
  for (const [name, value] of Object.entries(source.headers ?? {}))
    settings.push(['http.extraHeader', `${name}: ${value}`]);
  if (protocol === 'https:' && source.address !== undefined)
    settings.push(['http.curloptResolve', `${hostname}:${port || '443'}:${inBrackets(source.address)}`]);
  const variables: Record<string, string> = {
    GIT_ALLOW_PROTOCOL: protocol === 'ssh:' ? 'ssh' : source.isPlainHttp === true ? 'http:https' : 'https',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '/bin/false',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_COUNT: String(settings.length),
    LC_ALL: 'C',
  };
  for (const [index, [key, value]] of settings.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = key;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  if (protocol === 'ssh:') variables['GIT_SSH_COMMAND'] = await sshCommand(source, hostname, folder);
  return variables;
}

function inBrackets(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

async function sshCommand(source: RemoteSource, hostname: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const keyFile = path.join(folder, 'key');
  const knownHostsFile = knownHostsIn(folder);
  await writeFile(keyFile, `${(source.sshKey ?? '').trimEnd()}\n`, { mode: 0o600 });
  await writeFile(knownHostsFile, source.sshKnownHosts ?? '', { mode: 0o600 });
  return [
    'ssh -F /dev/null',
    `-i ${quoted(keyFile)}`,
    '-o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes -o ConnectTimeout=15',
    '-o ProxyCommand=none -o PermitLocalCommand=no -o ForwardAgent=no -o ClearAllForwardings=yes',
    `-o UserKnownHostsFile=${quoted(knownHostsFile)} -o GlobalKnownHostsFile=/dev/null -o HashKnownHosts=no`,
    `-o StrictHostKeyChecking=${source.sshKnownHosts === undefined ? 'accept-new' : 'yes'}`,
    ...(source.address === undefined ? [] : [`-o HostName=${source.address} -o HostKeyAlias=${hostname}`]),
  ].join(' ');
}

/** Where ssh writes the host's key, relative to the folder of {@link gitEnvironment}. */
export function knownHostsIn(folder: string): string {
  return path.join(folder, 'known_hosts');
}

/** Quotes an argument for the shell in which git runs its ssh command. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
