// `platform env list|set|unset|pull`: the variables of a project on the platform of this machine. Production, previews
// and single branches have their own; values are printed only where they are asked for.
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { defineCommand } from 'citty';
import type { RouteRecord } from '#core/manifest.ts';
import { previewOf } from '#core/preview.ts';
import { nearestWord } from '#core/spelling.ts';
import { CliError } from '../terminal/failure.ts';
import { changeRoute } from '#deployments/route-records.ts';
import { untilRouted } from '../local/served.ts';
import type { Shell } from '../terminal/shell.ts';
import { findDeployed, projectFlags } from '../project/target.ts';

type Variables = Readonly<Record<string, string>>;

/** Whose variables: production's, those of all previews, or those of the previews of one branch. */
type Target =
  | { readonly kind: 'production' }
  | { readonly kind: 'preview' }
  | { readonly kind: 'branch'; readonly branch: string };

const actions = ['list', 'set', 'unset', 'pull'] as const;

export const command = defineCommand({
  meta: { name: 'env', description: 'List, set, unset or pull the variables of this project' },
  args: {
    action: {
      type: 'positional',
      required: false,
      description: 'list (the default), set, unset, or pull (into a file, default .env)',
    },
    names: {
      type: 'positional',
      required: false,
      valueHint: 'more',
      description:
        'set: NAME=value, or NAME alone, whose value is read from standard input; unset: NAME; several at once',
    },
    target: {
      type: 'string',
      alias: 't',
      valueHint: 'target',
      description: 'production or preview (default: production; list: all)',
    },
    branch: {
      type: 'string',
      alias: 'b',
      valueHint: 'name',
      description: 'Those of the previews of one branch; they go before those of all',
    },
    show: { type: 'boolean', description: 'list: print the values too' },
    force: { type: 'boolean', description: 'pull: write over a file that is there' },
    ...projectFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const [action = 'list', ...words] = args._;
    if (!(actions as readonly string[]).includes(action)) {
      const near = nearestWord(action, actions);
      throw misuse(`\`platform env\` cannot ${action}${near === undefined ? '' : `. Did you mean ${near}?`}`);
    }
    const target = targetOf(args.target, args.branch);
    if (action === 'set' || action === 'unset') {
      if (words.length === 0) throw misuse(`Nothing to ${action}`);
      const changes =
        action === 'set' ? await valuesOf(shell, words) : Object.fromEntries(words.map((name) => [named(name), null]));
      return change(shell, args, target ?? { kind: 'production' }, changes);
    }
    const { route } = await findDeployed(shell, args);
    if (action === 'list') return list(shell, route, target, args);
    if (words.length > 1) throw misuse(`\`platform env pull\` takes one file`);
    pull(shell, route, target ?? { kind: 'production' }, words[0] ?? '.env', args.force === true);
  },
});

function targetOf(target: string | undefined, branch: string | undefined): Target | null {
  if (target !== undefined && target !== 'production' && target !== 'preview')
    throw misuse(`--target must be production or preview, but is "${target}"`);
  if (branch === undefined) return target === undefined ? null : { kind: target };
  if (target === 'production') throw misuse('--branch names previews: it does not go with --target production');
  return { kind: 'branch', branch };
}

function misuse(message: string): CliError {
  return new CliError(message, { exitCode: 2, advice: 'Run `platform env --help` to see what it takes.' });
}

function named(name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,255}$/.test(name)) return name;
  throw misuse(`"${name}" cannot be the name of a variable: letters, digits and _, not beginning with a digit`);
}

/**
 * `NAME=value`; of `NAME` alone the value comes from standard input, where it stays out of the history of the shell.
 */
async function valuesOf(shell: Shell, words: readonly string[]): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const word of words) {
    const at = word.indexOf('=');
    if (at >= 0) values[named(word.slice(0, at))] = word.slice(at + 1);
    else if (words.length > 1)
      throw misuse(`${word} has no value: write ${word}=value, or name it alone to have its value read`);
    else {
      if (process.stdin.isTTY) shell.err(`Value of ${named(word)}, ended with Ctrl-D on a line of its own:`);
      values[named(word)] = (await text(process.stdin)).replace(/\r?\n$/, '');
    }
  }
  return values;
}

function variablesOf(route: RouteRecord, target: Target): Variables {
  if (target.kind === 'production') return route.vars;
  if (target.kind === 'preview') return route.previewVars ?? {};
  return Object.hasOwn(route.branchVars ?? {}, target.branch) ? route.branchVars![target.branch]! : {};
}

function withVariables(route: RouteRecord, target: Target, variables: Variables): RouteRecord {
  if (target.kind === 'production') return { ...route, vars: variables };
  if (target.kind === 'preview') return { ...route, previewVars: variables };
  const { [target.branch]: _before, ...others } = route.branchVars ?? {};
  return {
    ...route,
    branchVars: Object.keys(variables).length === 0 ? others : { ...others, [target.branch]: variables },
  };
}

function inWords(target: Target): string {
  if (target.kind === 'production') return 'production';
  return target.kind === 'preview' ? 'previews' : `previews of ${target.branch}`;
}

interface Flags {
  readonly name?: string | undefined;
  readonly config?: string | undefined;
  readonly show?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Sets variables, and takes those away that are null. Deployments have them from their next request on. */
async function change(
  shell: Shell,
  flags: Flags,
  target: Target,
  changes: Readonly<Record<string, string | null>>,
): Promise<void> {
  const { platform, route } = await findDeployed(shell, flags);
  if (
    target.kind === 'branch' &&
    Object.values(route.deployments).some(({ id, branch }) => branch === target.branch && previewOf(route, id) === null)
  )
    throw new CliError(`${target.branch} is the branch of production: it has the variables of production`, {
      exitCode: 2,
      advice: 'Leave --branch out to change those.',
    });
  changeRoute(platform.folder, route.project, (before) => {
    const variables: Record<string, string> = { ...variablesOf(before, target) };
    for (const [name, value] of Object.entries(changes)) {
      if (value !== null) variables[name] = value;
      else if (!Object.hasOwn(variables, name))
        throw new CliError(`${name} is not set for ${inWords(target)} of ${before.project}`, {
          advice: '`platform env list` shows what is.',
        });
      else delete variables[name];
    }
    return withVariables(before, target, variables);
  });
  await untilRouted(platform, route.project);
  const names = Object.keys(changes);
  if (flags.json) shell.out(JSON.stringify({ project: route.project, target: inWords(target), changed: names }));
  else shell.out(`${shell.paint('green', 'Changed')} ${names.join(', ')} for ${inWords(target)} of ${route.project}`);
}

function list(shell: Shell, route: RouteRecord, target: Target | null, { show, json }: Flags): void {
  const branches = Object.keys(route.branchVars ?? {}).map((branch): Target => ({ kind: 'branch', branch }));
  const targets: readonly Target[] =
    target === null ? [{ kind: 'production' }, { kind: 'preview' }, ...branches] : [target];
  const rows = targets.flatMap((of) =>
    Object.entries(variablesOf(route, of))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => ({ name, target: inWords(of), ...(show === true && { value }) })),
  );
  if (json) return shell.out(JSON.stringify({ project: route.project, variables: rows }));
  const width = Math.max(0, ...rows.map(({ name }) => name.length));
  for (const row of rows)
    shell.out(
      `${row.name.padEnd(width)}  ${shell.paint('dim', row.target)}${row.value === undefined ? '' : `  ${row.value}`}`,
    );
  if (rows.length === 0) shell.out(`No variables are set for ${target === null ? route.project : inWords(target)}`);
}

/** Writes a file that `platform dev` reads. */
function pull(shell: Shell, route: RouteRecord, target: Target, name: string, force: boolean): void {
  const file = path.resolve(shell.cwd, name);
  if (existsSync(file) && !force)
    throw new CliError(`${name} is there already`, {
      advice: 'Name another file: platform env pull other.env, or pass --force to write over it.',
    });
  const variables = variablesOf(route, target);
  writeFileSync(
    file,
    Object.entries(variables)
      .map(([key, value]) => `${key}=${quoted(key, value)}\n`)
      .join(''),
    { mode: 0o600 },
  );
  shell.out(
    `${shell.paint('green', 'Wrote')} ${name}: ${Object.keys(variables).length} variables of ${inWords(target)}`,
  );
}

/**
 * As Node's parser of such files reads it back: it knows three kinds of quotes, and no way to write one inside of
 * itself.
 */
function quoted(name: string, value: string): string {
  const quote = [`'`, '`', '"'].find((mark) => !value.includes(mark) && !(mark === '"' && value.includes('\\')));
  if (quote === undefined)
    throw new CliError(`The value of ${name} holds every kind of quotes: it cannot be written into a file`);
  return `${quote}${value}${quote}`;
}
