// The command line program: a table of commands, each loaded only when it is called. Parses, dispatches, and prints
// what went wrong; knows nothing of what the commands do.
import { createRequire } from 'node:module';
import { stripVTControlCharacters } from 'node:util';
import { parseArgs, renderUsage, runCommand, type CommandDef } from 'citty';
import { nearestWord } from '#core/spelling.ts';
import { checkArguments } from './terminal/arguments.ts';
import { CliError, exitCodeOf, failuresOf, formatFailure } from './terminal/failure.ts';
import { processShell, type Shell } from './terminal/shell.ts';

interface Entry {
  readonly summary: string;
  /** Null: a command that is known and not built yet. */
  readonly load: (() => Promise<{ command: CommandDef<any> }>) | null;
}

/** Every command by its name. */
export const commands: Readonly<Record<string, Entry>> = {
  init: { summary: 'Start a project from a template', load: () => import('./commands/init.ts') },
  dev: { summary: 'Serve this project locally, with hot reload', load: () => import('./commands/dev.ts') },
  build: { summary: 'Build this project into an artifact', load: () => import('./commands/build.ts') },
  types: { summary: 'Generate the types of env from platform.yaml', load: () => import('./commands/types.ts') },
  deploy: { summary: 'Build and publish to the platform on this machine', load: () => import('./commands/deploy.ts') },
  deployments: { summary: 'List the deployments of this project', load: () => import('./commands/deployments.ts') },
  promote: { summary: 'Make a deployment production', load: () => import('./commands/promote.ts') },
  rollback: {
    summary: 'Go back to the production deployment before this one',
    load: () => import('./commands/rollback.ts'),
  },
  env: { summary: 'List, set, unset or pull the variables of this project', load: () => import('./commands/env.ts') },
  logs: { summary: 'Show the log of this project', load: () => import('./commands/logs.ts') },
  plan: { summary: 'Show or set the plan of this project', load: () => import('./commands/plan.ts') },
  start: { summary: 'Start the platform on this machine', load: () => import('./commands/start.ts') },
  vite: { summary: 'Run Vite with configuration from platform.yaml', load: null },
  login: { summary: 'Log in to a platform', load: () => import('./commands/login.ts') },
  logout: { summary: 'Log out of a platform', load: () => import('./commands/logout.ts') },
  whoami: { summary: 'Show who you are to the platform', load: () => import('./commands/whoami.ts') },
  auth: { summary: 'The same as login, logout and whoami', load: () => import('./commands/auth.ts') },
  api: { summary: 'Call the API of the platform', load: null },
};

/**
 * Runs the program and returns its exit code: 0, 1 when a command failed, 2 when it was called wrongly.
 *
 * @param words everything after `platform`.
 */
export async function run(words: readonly string[], shell: Shell = processShell()): Promise<number> {
  try {
    return await dispatch(words, shell);
  } catch (error) {
    report(error, words.includes('--json'), shell);
    return exitCodeOf(error);
  }
}

async function dispatch(words: readonly string[], shell: Shell): Promise<number> {
  const [name, ...rest] = words;
  if (name === undefined || name === '--help' || name === 'help') {
    shell.out(usage(shell));
    return 0;
  }
  if (name === '--version') {
    shell.out(version());
    return 0;
  }
  if (!Object.hasOwn(commands, name)) {
    const near = nearestWord(name, name.startsWith('-') ? ['--help', '--version'] : Object.keys(commands));
    const what = name.startsWith('-') ? 'flag' : 'command';
    throw new CliError(`Unknown ${what} ${name}${near === undefined ? '' : `. Did you mean ${near}?`}`, {
      exitCode: 2,
      advice: 'Run `platform --help` to see all commands.',
    });
  }
  const entry = commands[name]!;
  if (entry.load === null) throw new CliError(`\`platform ${name}\` is not built yet`);
  const { command } = await entry.load();
  if (beforeDashes(rest).includes('--help')) {
    const text = await renderUsage(command, { meta: { name: 'platform', version: version() } });
    shell.out(shell.paint('bold', 'x') === 'x' ? stripVTControlCharacters(text) : text);
    return 0;
  }
  const definitions = typeof command.args === 'function' ? await command.args() : await command.args;
  checkArguments(`platform ${name}`, definitions ?? {}, rest);
  callable(() => parseArgs(rest, definitions ?? {}), `platform ${name}`);
  const { result } = await runCommand(command, { rawArgs: rest, data: shell });
  return typeof result === 'number' ? result : 0;
}

/** What citty objects to (a missing argument, a value outside of a list) is a wrong call. */
function callable(parse: () => unknown, command: string): void {
  try {
    parse();
  } catch (error) {
    const message = stripVTControlCharacters((error as Error).message);
    throw new CliError(message, { exitCode: 2, advice: `Run \`${command} --help\` to see what it takes.` });
  }
}

function beforeDashes(words: readonly string[]): readonly string[] {
  const dashes = words.indexOf('--');
  return dashes === -1 ? words : words.slice(0, dashes);
}

function usage(shell: Shell): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const lines = Object.entries(commands).map(
    ([name, { summary, load }]) =>
      `  ${shell.paint('cyan', name.padEnd(width))}  ${summary}${load === null ? ' (not built yet)' : ''}`,
  );
  return [
    `platform ${version()}: a serverless platform of your own`,
    '',
    `${shell.paint('bold', 'Usage')}  platform <command> [flags]`,
    '',
    ...lines,
    '',
    '  platform <command> --help   what a command takes',
    '  platform --version          this version',
  ].join('\n');
}

/** The version in the manifest of this package, both in the repository and packed. */
function version(): string {
  return (createRequire(import.meta.url)('../package.json') as { version: string }).version;
}

function report(error: unknown, json: boolean, shell: Shell): void {
  const failures = failuresOf(error);
  if (json) shell.out(JSON.stringify({ errors: failures }));
  else for (const failure of failures) shell.err(`${shell.paint('red', 'error')} ${formatFailure(failure)}`);
  if (shell.env['PLATFORM_DEBUG'] === '1' && error instanceof Error) shell.err(error.stack ?? String(error));
}
