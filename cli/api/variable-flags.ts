// What the commands of `platform env` share: their flags, whose variables are meant, names and values from words.
import { isVariableName } from '../project/variables.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { targetFlags, type TargetFlags } from './project.ts';

/** Whose variables: production's, those of all previews, of the previews of one branch, or of `platform dev`. */
export type Scope =
  | { readonly kind: 'production' | 'preview' | 'dev' }
  | { readonly kind: 'branch'; readonly branch: string };

/** Flags of all of them. */
export const scopeFlags = {
  target: {
    type: 'string',
    alias: 't',
    valueHint: 'target',
    description: 'production, preview or dev (default: production; list: all)',
  },
  branch: {
    type: 'string',
    alias: 'b',
    valueHint: 'name',
    description: 'Those of the previews of one branch; they go before those of all',
  },
  ...targetFlags,
  json: { type: 'boolean', description: 'Print JSON' },
} as const;

/** Their values. */
export interface ScopeFlags extends TargetFlags {
  readonly target?: string | undefined;
  readonly branch?: string | undefined;
  readonly json?: boolean | undefined;
}

/** What --target and --branch mean; null without both. @throws {CliError} */
export function scopeOf({ target, branch }: ScopeFlags): Scope | null {
  if (target !== undefined && target !== 'production' && target !== 'preview' && target !== 'dev')
    throw misuse(`--target must be production, preview or dev, but is "${target}"`);
  if (branch === undefined) return target === undefined ? null : { kind: target };
  if (target === 'production' || target === 'dev')
    throw misuse(`--branch names previews: it does not go with --target ${target}`);
  return { kind: 'branch', branch };
}

/** @example inWords({ kind: 'branch', branch: 'login' }) // 'previews of login' */
export function inWords(scope: Scope): string {
  if (scope.kind === 'branch') return `previews of ${scope.branch}`;
  return scope.kind === 'preview' ? 'previews' : scope.kind;
}

/** A name that is one. @throws {CliError} */
export function named(name: string): string {
  if (isVariableName(name)) return name;
  throw misuse(`"${name}" cannot be the name of a variable: letters, digits and _, not beginning with a digit`);
}

/**
 * `NAME=value`; of `NAME` alone the value comes from standard input, where it stays out of the history of the shell.
 */
export async function valuesOf(shell: Shell, words: readonly string[]): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const word of words) {
    const at = word.indexOf('=');
    if (at >= 0) values[named(word.slice(0, at))] = word.slice(at + 1);
    else if (words.length > 1)
      throw misuse(`${word} has no value: write ${word}=value, or name it alone to have its value read`);
    else {
      named(word);
      if (process.stdin.isTTY) shell.err(`Value of ${word}, ended with Ctrl-D on a line of its own:`);
      values[word] = Buffer.from(await shell.input())
        .toString()
        .replace(/\r?\n$/, '');
    }
  }
  return values;
}

/** A wrong call of `platform env`. */
export function misuse(message: string): CliError {
  return new CliError(message, { exitCode: 2, advice: 'Run `platform env --help` to see what it takes.' });
}
