// Definition of a limit, and how it is read from the environment. Part of core/limits.ts; not imported elsewhere.
import { parseInteger } from '../parse-integer.ts';

export const KB = 1024;
export const MB = 1024 * KB;
export const DAY_MS = 86_400_000;

/**
 * Variable of the limit (null if no installation has a reason to override it), default, description as in
 * docs/limits.md, and minimum (1).
 */
export type LimitDefinition = readonly [variable: string | null, value: number, what: string, least?: 0];

/** Limits of one section by name. Units are in the names. */
export type LimitDefinitions = Readonly<Record<string, LimitDefinition>>;

/** The values of a section. */
export type Values<Section extends LimitDefinitions> = { readonly [Name in keyof Section]: number };

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** @throws {Error} naming the variable, its value and valid values. */
export function readLimits<Section extends LimitDefinitions>(
  section: Section,
  environment: Environment,
): Values<Section> {
  const values = Object.entries(section).map(([name, [variable, value, , least = 1]]) => {
    const text = variable === null ? undefined : environment[variable];
    return [name, text === undefined || text === '' ? value : parseInteger(variable as string, text, { least })];
  });
  return Object.fromEntries(values) as Values<Section>;
}
