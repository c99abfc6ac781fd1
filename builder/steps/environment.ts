// The environment of what runs in a build: nothing of the platform's own but where certificates lie, which proxy leads
// out, and which registry serves packages. Pure. Called by the steps.
import { dirname } from 'node:path';
import { nodeCommand } from '#core/process/node-command.ts';
import type { BuildFolders } from './build-folders.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** Of the machine rather than of the platform: without them nothing can be fetched on some machines. */
const CERTIFICATES = ['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'GIT_SSL_CAINFO', 'CURL_CA_BUNDLE'];
const ADDRESSES = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'NPM_CONFIG_REGISTRY',
  'npm_config_registry',
  'COREPACK_NPM_REGISTRY',
];

/** What builds get of the machine. Addresses with a password in them stay out. */
export function machineVariables(environment: Variables = process.env): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of CERTIFICATES) if (environment[name]) found[name] = environment[name];
  for (const name of ADDRESSES)
    if (environment[name] && !environment[name].includes('@')) found[name] = environment[name];
  return found;
}

/** What a build sandbox gets of the builder's machine: where packages are, since the way out is its own. */
export function registryVariables(environment: Variables = process.env): Record<string, string> {
  return Object.fromEntries(Object.entries(machineVariables(environment)).filter(([name]) => /registry$/i.test(name)));
}

/** Files that {@link machineVariables} name, for namespaces to show. */
export function certificatePaths(environment: Variables = process.env): string[] {
  const paths = CERTIFICATES.flatMap((name) => environment[name]?.split(':') ?? []);
  return [...new Set(paths)].filter(
    (path) => path.startsWith('/') && !path.startsWith('/etc/') && !path.startsWith('/usr/'),
  );
}

/** Variables that every command of a build gets; those of the project go over them, those of the platform over both. */
export function baseVariables(
  folders: BuildFolders,
  programs: readonly string[],
  environment: Variables = process.env,
) {
  const [node] = nodeCommand();
  const path = [
    dirname(node),
    ...programs,
    '/usr/local/sbin',
    '/usr/local/bin',
    '/usr/sbin',
    '/usr/bin',
    '/sbin',
    '/bin',
  ];
  return { ...machineVariables(environment), PATH: [...new Set(path)].join(':'), ...folderVariables(folders) };
}

/** Those of them that are the same wherever the folders lie. */
export function folderVariables({ cache, home, tmp }: Pick<BuildFolders, 'cache' | 'home' | 'tmp'>) {
  return {
    HOME: home,
    TMPDIR: tmp,
    USER: 'build',
    LOGNAME: 'build',
    SHELL: '/bin/sh',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    CI: '1',
    NO_UPDATE_NOTIFIER: '1',
    npm_config_cache: `${cache}/npm`,
    npm_config_update_notifier: 'false',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_progress: 'false',
    YARN_CACHE_FOLDER: `${cache}/yarn`,
    YARN_ENABLE_GLOBAL_CACHE: 'false',
    BUN_INSTALL_CACHE_DIR: `${cache}/bun`,
    COREPACK_HOME: `${cache}/corepack`,
    COREPACK_ENABLE_DOWNLOAD_PROMPT: '0',
    COREPACK_ENABLE_AUTO_PIN: '0',
  } satisfies Record<string, string>;
}

/** What the loader, the C library and shells act on in every program that they start. */
const OF_EVERY_PROGRAM =
  /^(?:PATH|LD_.*|ENV|BASH_ENV|BASH_FUNC_.*|IFS|CDPATH|GLIBC_TUNABLES|GCONV_PATH|GETCONF_DIR|LOCPATH|NLSPATH|MALLOC_.*)$/;
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * A project's variables reach the programs that fence its command too, which run with the platform's rights: those by
 * which they would run the project's code are set behind the fence.
 *
 * @returns variables of the whole, and the words before the command that set the rest.
 */
export function fencedVariables(env: Readonly<Record<string, string>>): {
  readonly outside: Readonly<Record<string, string>>;
  readonly inside: readonly string[];
} {
  const entries = Object.entries(env);
  const behind = entries.filter(([name]) => OF_EVERY_PROGRAM.test(name));
  const outside = Object.fromEntries(entries.filter(([name]) => !OF_EVERY_PROGRAM.test(name)));
  return {
    outside: { ...outside, PATH: SYSTEM_PATH },
    inside: behind.length === 0 ? [] : ['env', ...behind.map(([name, value]) => `${name}=${value}`)],
  };
}
