// The variables of a server process: those of its deployment, and those that describe its environment. Variables of the
// platform are not passed. Pure. Called by server-process.ts.
import { dirname } from 'node:path';
import { AI_URL_VARIABLE } from '#core/ai-caller.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import { AI_HOST } from '#core/ssr/protocol.ts';

/** Dependencies of the variables. */
interface ServerVariables {
  readonly vars: Readonly<Record<string, string>>;
  /** Variables with which the server calls bindings. */
  readonly platform: Readonly<Record<string, string>>;
  /** Folder of the server's sockets. */
  readonly run: string;
  readonly preload: string;
  readonly cwd: string;
  readonly memoryMbMax: number;
}

/** The port can be fixed, because every port is free in the server's own network. */
const SERVER_PORT = 3000;
/** Share of the server's memory for JavaScript objects; the rest is for code, buffers and child processes. */
const HEAP_PART = 0.75;

export function serverEnvironment({ vars, platform, run, preload, cwd, memoryMbMax }: ServerVariables) {
  const [node] = nodeCommand();
  const flags = [`--require=${preload}`, `--max-old-space-size=${Math.floor(memoryMbMax * HEAP_PART)}`];
  return {
    LANG: 'C.UTF-8',
    NODE_ENV: 'production',
    NEXT_TELEMETRY_DISABLED: '1',
    ...vars,
    ...(AI_URL_VARIABLE in vars && { [AI_URL_VARIABLE]: `http://${AI_HOST}/ai` }),
    ...platform,
    PATH: [`${cwd}/node_modules/.bin`, dirname(node), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    HOME: '/tmp',
    TMPDIR: '/tmp',
    PORT: String(SERVER_PORT),
    HOST: '0.0.0.0',
    HOSTNAME: '0.0.0.0',
    PLATFORM_SERVER_FOLDER: run,
    NODE_OPTIONS: [...flags, vars['NODE_OPTIONS'] ?? ''].join(' ').trim(),
  } satisfies Record<string, string>;
}

/** Shell lines that set the variables; a name that no shell accepts is omitted. */
export function shellVariables(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .filter(([name, value]) => /^[A-Za-z_]\w*$/.test(name) && !value.includes('\0'))
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", String.raw`'\''`)}'\n`)
    .join('');
}
