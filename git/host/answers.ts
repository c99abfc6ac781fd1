// Fields of responses of Git hosts, read one by one, since a proxy or another host may send any content. Pure.
import { Failure } from '#core/failure.ts';

export type Answer = Readonly<Record<string, unknown>>;

/** @throws {Failure} `git_host` if the value is no object. */
export function answerFields(value: unknown): Answer {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Answer;
  throw malformed('The response of the Git host has an unexpected format');
}

/** @throws {Failure} `git_host` if the value is no list. */
export function answerList(value: unknown): Answer[] {
  if (Array.isArray(value)) return (value as unknown[]).map(answerFields);
  throw malformed('The response of the Git host is not a list');
}

/**
 * Returns a field that is a text or a number, as a text. @throws {Failure} `git_host` if the field is missing, unless
 * there is a default.
 */
export function answerText(row: Answer, name: string, otherwise?: string): string {
  const value = row[name];
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  if (otherwise !== undefined) return otherwise;
  throw malformed(`The response of the Git host has no "${name}"`);
}

function malformed(message: string): Error {
  return new Failure('git_host', message, { reason: 'refused', status: 200 });
}
