// The environment of build commands, which gets only certificate paths, the proxy and the package registry from the
// platform's environment. Pure. Called by the steps.
import { dirname } from 'node:path';
import { nodeCommand } from '#core/process/node-command.ts';
import type { BuildFolders } from './build-folders.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** Variables that describe the machine, without which a build on some machines cannot fetch anything. */
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

/** The machine's variables for builds. URLs with a password are excluded. */
export function machineVariables(environment: Variables = process.env): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of CERTIFICATES) if (environment[name]) found[name] = environment[name];
  for (const name of ADDRESSES)
    if (environment[name] && !environment[name].includes('@')) found[name] = environment[name];
  return found;
}

/** The variables for a build sandbox: the package registries, since it has its own way out. */
export function registryVariables(environment: Variables = process.env): Record<string, string> {
  return Object.fromEntries(Object.entries(machineVariables(environment)).filter(([name]) => /registry$/i.test(name)));
}

/** Files named by {@link machineVariables}, to be mounted in namespaces. */
export function certificatePaths(environment: Variables = process.env): string[] {
  const paths = CERTIFICATES.flatMap((name) => environment[name]?.split(':') ?? []);
  return [...new Set(paths)].filter(
    (path) => path.startsWith('/') && !path.startsWith('/etc/') && !path.startsWith('/usr/'),
  );
}

/**
 * Variables of every build command. Variables of the project override these variables, and variables of the platform
 * override both.
 */
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

/** Variables that do not depend on folder paths. */
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

/** Variables interpreted by the dynamic loader, the C library and shells in every program. */
const OF_EVERY_PROGRAM =
  /^(?:PATH|LD_.*|ENV|BASH_ENV|BASH_FUNC_.*|IFS|CDPATH|GLIBC_TUNABLES|GCONV_PATH|GETCONF_DIR|LOCPATH|NLSPATH|MALLOC_.*)$/;
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * A project's variables would also reach the programs that confine its command, which run with the platform's
 * permissions. Variables that could make these programs run the project's code are set inside the fence.
 *
 * @returns the variables for all programs, and a command prefix that sets the other variables.
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
