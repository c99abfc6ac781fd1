// The CLI program: finds the command in commands/tree.ts, parses arguments, runs it, and prints errors.
import { stripVTControlCharacters } from 'node:util';
import { parseArgs, renderUsage, runCommand, type ArgsDef, type CommandDef } from 'citty';
import { nearestWord } from '#core/spelling.ts';
import { programVersion } from './local/program-version.ts';
import { commands, findEntry, sections } from './commands/tree.ts';
import type { Entry, Group, Leaf } from './terminal/entries.ts';
import { checkArguments } from './terminal/arguments.ts';
import { CliError, exitCodeOf, failuresOf, printFailure } from './terminal/failure.ts';
import { marked, ownLines } from './terminal/printed.ts';
import { processShell, type Shell } from './terminal/shell.ts';

/**
 * Runs the program and returns its exit code: 0, 1 for a failed command, 2 for a usage error.
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
  const [name] = words;
  if (name === undefined || name === '--help' || name === 'help') {
    shell.out(ownLines(usage(shell)));
    return 0;
  }
  if (name === '--version') {
    shell.out(programVersion());
    return 0;
  }
  const found = findEntry(words);
  if (found === null) throw unknown(name, 'platform', commands);
  const { entry, called, rest } = found;
  const helpWanted = beforeDashes(rest).includes('--help');
  if ('commands' in entry) {
    const [next] = rest;
    const { otherwise } = entry;
    if (otherwise !== undefined && !helpWanted) return call(entry.commands[otherwise] as Leaf, called, rest, shell);
    if (next !== undefined && !next.startsWith('-')) throw unknown(next, called, entry.commands);
    if (helpWanted) {
      shell.out(ownLines(groupUsage(called, entry, shell)));
      return 0;
    }
    if (entry.byDefault === undefined)
      throw new CliError(`\`${called}\` needs a command: ${Object.keys(entry.commands).join(', ')}`, {
        exitCode: 2,
        advice: `Run \`${called} --help\` for details.`,
      });
    return call(entry.commands[entry.byDefault] as Leaf, called, rest, shell);
  }
  return call(entry, called, rest, shell);
}

async function call(leaf: Leaf, called: string, rest: readonly string[], shell: Shell): Promise<number> {
  const { command } = await leaf.load();
  if (beforeDashes(rest).includes('--help')) {
    const parent = called.split(' ').slice(0, -1).join(' ');
    const text = await renderUsage(withLongAliases(command), { meta: { name: parent, version: programVersion() } });
    shell.out(ownLines(shell.paint('bold', 'x') === 'x' ? stripVTControlCharacters(text) : marked(text)));
    return 0;
  }
  if (leaf.forwards === true) {
    const { result } = await runCommand(command, { rawArgs: [...rest], data: shell });
    return typeof result === 'number' ? result : 0;
  }
  const definitions = typeof command.args === 'function' ? await command.args() : await command.args;
  checkArguments(called, definitions ?? {}, rest);
  callable(() => parseArgs([...rest], definitions ?? {}), called);
  const { result } = await runCommand(command, { rawArgs: [...rest], data: shell });
  return typeof result === 'number' ? result : 0;
}

/** citty prints aliases with one dash, but word aliases need two. */
function withLongAliases(command: CommandDef): CommandDef {
  const dashed = (alias: string): string => (alias.length === 1 ? alias : `-${alias}`);
  const args = Object.entries((command.args ?? {}) as ArgsDef).map(([name, definition]) => {
    if (!('alias' in definition) || definition.alias === undefined) return [name, definition];
    return [name, { ...definition, alias: [definition.alias].flat().map(dashed) }];
  });
  return { ...command, args: Object.fromEntries(args) as ArgsDef };
}

/** Turns errors of citty (missing argument, invalid value) into usage errors. */
function callable(parse: () => unknown, command: string): void {
  try {
    parse();
  } catch (error) {
    const message = stripVTControlCharacters((error as Error).message);
    throw new CliError(message, { exitCode: 2, advice: `Run \`${command} --help\` for usage.` });
  }
}

function beforeDashes(words: readonly string[]): readonly string[] {
  const dashes = words.indexOf('--');
  return dashes === -1 ? words : words.slice(0, dashes);
}

/** The error for an unknown command or flag. */
function unknown(word: string, called: string, among: Readonly<Record<string, Entry>>): CliError {
  const isFlag = word.startsWith('-');
  const near = nearestWord(word, isFlag ? ['--help', '--version'] : Object.keys(among));
  const said = near === undefined ? '' : `. Did you mean ${near}?`;
  if (called === 'platform')
    return new CliError(`Unknown ${isFlag ? 'flag' : 'command'} ${word}${said}`, {
      exitCode: 2,
      advice: 'Run `platform --help` to see all commands.',
    });
  return new CliError(`Unknown command \`${called} ${word}\`${said}`, {
    exitCode: 2,
    advice: `Run \`${called} --help\` for usage.`,
  });
}

function usage(shell: Shell): string {
  return [
    `platform ${programVersion()}: a self-hosted serverless platform`,
    '',
    `${shell.paint('bold', 'Usage')}  platform <command> [flags]`,
    '',
    ...Object.entries(sections).flatMap(([title, among]) => [
      shell.paint('bold', title),
      ...listed(among, widthOf(commands), shell),
      '',
    ]),
    '  platform <command> --help   help for a command',
    '  platform --version          the version',
  ].join('\n');
}

function groupUsage(called: string, { summary, commands: among, byDefault }: Group, shell: Shell): string {
  return [
    summary,
    '',
    `${shell.paint('bold', 'Usage')}  ${called} <command> [flags]`,
    '',
    ...listed(among, widthOf(among), shell),
    '',
    ...(byDefault === undefined ? [] : [`  ${called} without a command runs ${called} ${byDefault}`]),
    `  ${called} <command> --help   help for a command`,
  ].join('\n');
}

function widthOf(among: Readonly<Record<string, Entry>>): number {
  return Math.max(...Object.keys(among).map((name) => name.length));
}

function listed(among: Readonly<Record<string, Entry>>, width: number, shell: Shell): string[] {
  return Object.entries(among).map(([name, { summary }]) => `  ${shell.paint('cyan', name.padEnd(width))}  ${summary}`);
}

function report(error: unknown, json: boolean, shell: Shell): void {
  const failures = failuresOf(error);
  if (json) shell.out(JSON.stringify({ errors: failures }));
  else for (const failure of failures) printFailure(shell, failure);
  if (shell.env['PLATFORM_DEBUG'] === '1' && error instanceof Error) shell.err(ownLines(error.stack ?? String(error)));
}
