// Validates arguments before citty parses them: unknown flags, missing values, surplus arguments. citty ignores all
// three silently.
import { parseArgs } from 'node:util';
import type { ArgsDef } from 'citty';
import { parseInteger } from '#core/parse-integer.ts';
import { nearestWord } from '#core/spelling.ts';
import { CliError } from './failure.ts';

/**
 * Refuses invalid arguments.
 *
 * @param command name for messages: `platform build`.
 * @throws {CliError} with exit code 2.
 */
export function checkArguments(command: string, definitions: ArgsDef, words: readonly string[]): void {
  const options: Record<string, { type: 'string' | 'boolean'; short?: string }> = {};
  let positionalsMax = 0;
  for (const [name, definition] of Object.entries(definitions)) {
    if (definition.type === 'positional') {
      positionalsMax += 'valueHint' in definition && definition.valueHint === 'more' ? Number.POSITIVE_INFINITY : 1;
      continue;
    }
    const aliases = 'alias' in definition ? [definition.alias ?? []].flat() : [];
    const short = aliases.find((alias) => alias.length === 1);
    const type = definition.type === 'boolean' ? ('boolean' as const) : ('string' as const);
    options[name] = { type, ...(short !== undefined && { short }) };
    for (const alias of aliases) if (alias.length > 1) options[alias] = { type };
  }
  const { tokens } = parseArgs({
    args: [...words],
    options,
    strict: false,
    allowPositionals: true,
    allowNegative: true,
    tokens: true,
  });
  let positionals = 0;
  for (const token of tokens) {
    if (token.kind === 'positional' && ++positionals > positionalsMax) {
      throw misuse(command, `Unexpected argument "${token.value}"`);
    }
    if (token.kind !== 'option') continue;
    const option = options[token.name];
    if (option === undefined) {
      const near = nearestWord(token.rawName.replace(/^-+/, ''), flagNames(definitions));
      throw misuse(command, `Unknown flag ${token.rawName}${near === undefined ? '' : `. Did you mean --${near}?`}`);
    }
    if (/^-\w$/.test(token.rawName) && token.inlineValue && token.value.startsWith('='))
      throw misuse(command, `Write ${token.rawName} ${token.value.slice(1)}, without "="`);
    if (
      option.type === 'string' &&
      (token.value === undefined || token.value === '' || (!token.inlineValue && token.value.startsWith('-')))
    ) {
      throw misuse(command, `${token.rawName} needs a value`);
    }
  }
}

function flagNames(definitions: ArgsDef): string[] {
  return Object.entries(definitions).flatMap(([name, { type, ...definition }]) => {
    if (type === 'positional') return [];
    return type === 'boolean' && 'default' in definition && definition.default === true ? [name, `no-${name}`] : [name];
  });
}

/** Parses an integer flag within limits. */
export function wholeNumber(command: string, flag: string, text: string, least: number, most: number): number {
  try {
    return parseInteger(flag, text, { least, most });
  } catch (error) {
    throw misuse(command, (error as Error).message);
  }
}

function misuse(command: string, message: string): CliError {
  return new CliError(message, { exitCode: 2, advice: `Run \`${command} --help\` for usage.` });
}
