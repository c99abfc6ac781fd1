// Shared by the commands of `platform env`: flags, scope, and parsing of names and values.
import { isVariableName } from '../project/variables.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { targetFlags, type TargetFlags } from './project.ts';

/** Scope of variables: production, all previews, the previews of a branch, or `platform dev`. */
export type Scope =
  | { readonly kind: 'production' | 'preview' | 'dev' }
  | { readonly kind: 'branch'; readonly branch: string };

/** Common flags. */
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
    description: 'Previews of one branch; overrides variables of all previews',
  },
  ...targetFlags,
  json: { type: 'boolean', description: 'Print JSON' },
} as const;

/** Values of the flags. */
export interface ScopeFlags extends TargetFlags {
  readonly target?: string | undefined;
  readonly branch?: string | undefined;
  readonly json?: boolean | undefined;
}

/** Scope of --target and --branch; null without both. @throws {CliError} */
export function scopeOf({ target, branch }: ScopeFlags): Scope | null {
  if (target !== undefined && target !== 'production' && target !== 'preview' && target !== 'dev')
    throw misuse(`--target must be production, preview or dev, but is "${target}"`);
  if (branch === undefined) return target === undefined ? null : { kind: target };
  if (target === 'production' || target === 'dev')
    throw misuse(`--branch applies to previews and cannot be combined with --target ${target}`);
  return { kind: 'branch', branch };
}

/** @example inWords({ kind: 'branch', branch: 'login' }) // 'previews of login' */
export function inWords(scope: Scope): string {
  if (scope.kind === 'branch') return `previews of ${scope.branch}`;
  return scope.kind === 'preview' ? 'previews' : scope.kind;
}

/** Validates a name. @throws {CliError} */
export function named(name: string): string {
  if (isVariableName(name)) return name;
  throw misuse(`Invalid variable name "${name}": use letters, digits and _, not starting with a digit`);
}

/**
 * Parses `NAME=value`. The value of a lone `NAME` is read from standard input, to keep it out of the shell history.
 */
export async function valuesOf(shell: Shell, words: readonly string[]): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const word of words) {
    const at = word.indexOf('=');
    if (at >= 0) values[named(word.slice(0, at))] = word.slice(at + 1);
    else if (words.length > 1)
      throw misuse(
        `${word} has no value: use ${word}=value, or pass only this name to read the value from standard input`,
      );
    else {
      named(word);
      if (process.stdin.isTTY) shell.err(`Enter the value of ${word}, then press Ctrl-D on a new line:`);
      values[word] = Buffer.from(await shell.input())
        .toString()
        .replace(/\r?\n$/, '');
    }
  }
  return values;
}

/** A usage error of `platform env`. */
export function misuse(message: string): CliError {
  return new CliError(message, { exitCode: 2, advice: 'Run `platform env --help` for usage.' });
}
