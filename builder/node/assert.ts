// node:assert: checks that throw an AssertionError. Messages name the compared values, without Node's line-by-line
// differences. Bundled into workers by node-compat.ts.
import { isDeepLooseEqual, isDeepStrictEqual } from './deep-equal.ts';
import { inspect } from './inspect.ts';

interface Details {
  readonly message?: string;
  readonly actual?: unknown;
  readonly expected?: unknown;
  readonly operator?: string;
}
type Message = string | Error | undefined;
type Block = () => unknown;
type Expected =
  | RegExp
  | (new (...args: never[]) => unknown)
  | ((error: unknown) => boolean)
  | object
  | string
  | undefined;

export class AssertionError extends Error {
  readonly code = 'ERR_ASSERTION';
  readonly actual: unknown;
  readonly expected: unknown;
  readonly operator: string | undefined;
  readonly generatedMessage: boolean;

  constructor({ message, actual, expected, operator }: Details) {
    super(message ?? `${inspect(actual)} ${operator ?? '=='} ${inspect(expected)}`);
    this.name = 'AssertionError';
    this.generatedMessage = message === undefined;
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
  }
}

function failWith(message: Message, details: Details, generated: string): never {
  if (message instanceof Error) throw message;
  const error = new AssertionError({ ...details, message: message ?? generated });
  if (message === undefined) Object.defineProperty(error, 'generatedMessage', { value: true });
  throw error;
}

export function ok(value: unknown, message?: Message): void {
  if (!value)
    failWith(message, { actual: value, expected: true, operator: '==' }, 'The expression evaluated to a falsy value');
}

export function fail(message?: Message): never {
  failWith(message, { operator: 'fail' }, 'Failed');
}

/** A comparison by name, its outcome, and the message if it fails. */
function comparison(operator: string, holds: (actual: unknown, expected: unknown) => boolean, says: string) {
  return (actual: unknown, expected: unknown, message?: Message): void => {
    if (!holds(actual, expected))
      failWith(
        message,
        { actual, expected, operator },
        `${says}:\n\n${inspect(actual)}\n\nand\n\n${inspect(expected)}`,
      );
  };
}

// oxlint-disable-next-line eqeqeq
const looselyEqual = (a: unknown, b: unknown): boolean => a == b || (Number.isNaN(a) && Number.isNaN(b));

export const equal = /* @__PURE__ */ comparison('==', looselyEqual, 'Expected values to be loosely equal');
export const notEqual = /* @__PURE__ */ comparison(
  '!=',
  (a, b) => !looselyEqual(a, b),
  'Expected values to be loosely unequal',
);
export const strictEqual = /* @__PURE__ */ comparison('strictEqual', Object.is, 'Expected values to be strictly equal');
export const notStrictEqual = /* @__PURE__ */ comparison(
  'notStrictEqual',
  (a, b) => !Object.is(a, b),
  'Expected values not to be strictly equal',
);
export const deepEqual = /* @__PURE__ */ comparison(
  'deepEqual',
  isDeepLooseEqual,
  'Expected values to be loosely deep-equal',
);
export const notDeepEqual = /* @__PURE__ */ comparison(
  'notDeepEqual',
  (a, b) => !isDeepLooseEqual(a, b),
  'Expected values not to be loosely deep-equal',
);
export const deepStrictEqual = /* @__PURE__ */ comparison(
  'deepStrictEqual',
  isDeepStrictEqual,
  'Expected values to be strictly deep-equal',
);
export const notDeepStrictEqual = /* @__PURE__ */ comparison(
  'notDeepStrictEqual',
  (a, b) => !isDeepStrictEqual(a, b),
  'Expected values not to be strictly deep-equal',
);

export function match(text: string, pattern: RegExp, message?: Message): void {
  if (typeof text !== 'string' || !pattern.test(text))
    failWith(
      message,
      { actual: text, expected: pattern, operator: 'match' },
      `The input did not match ${pattern}. Input:\n\n${inspect(text)}`,
    );
}

export function doesNotMatch(text: string, pattern: RegExp, message?: Message): void {
  if (typeof text === 'string' && pattern.test(text))
    failWith(
      message,
      { actual: text, expected: pattern, operator: 'doesNotMatch' },
      `The input was expected not to match ${pattern}`,
    );
}

export function ifError(value: unknown): void {
  if (value === null || value === undefined) return;
  if (value instanceof Error) throw value;
  failWith(
    undefined,
    { actual: value, expected: null, operator: 'ifError' },
    `ifError got unwanted exception: ${inspect(value)}`,
  );
}

function isErrorClass(expected: unknown): expected is new (...args: never[]) => unknown {
  const { prototype } = expected as { prototype?: unknown };
  return (
    typeof expected === 'function' &&
    (expected === Error || prototype instanceof Error || /^class\b/.test(String(expected)))
  );
}

/** Throws unless the error matches the expected error. */
function checkError(error: unknown, expected: Expected, message: Message, operator: string): void {
  if (expected === undefined || typeof expected === 'string') return;
  const details = { actual: error, expected, operator };
  if (expected instanceof RegExp) {
    if (!expected.test(String(error)))
      failWith(message, details, `The input did not match ${expected}. Input:\n\n${inspect(String(error))}`);
  } else if (isErrorClass(expected)) {
    if (!(error instanceof expected)) throw error;
  } else if (typeof expected === 'function') {
    if ((expected as (error: unknown) => boolean)(error) !== true)
      failWith(message, details, 'The validation function is expected to return "true"');
  } else {
    for (const key of Object.keys(expected)) {
      const [actual, wanted] = [
        (error as Record<string, unknown> | null)?.[key],
        (expected as Record<string, unknown>)[key],
      ];
      const same =
        wanted instanceof RegExp && typeof actual === 'string'
          ? wanted.test(actual)
          : isDeepStrictEqual(actual, wanted);
      if (!same) failWith(message, details, `Expected ${key} to be ${inspect(wanted)}, got ${inspect(actual)}`);
    }
  }
}

function messageOf(expected: Expected, message: Message): Message {
  return typeof expected === 'string' ? expected : message;
}

export function throws(block: Block, expected?: Expected, message?: Message): void {
  let error: unknown;
  try {
    block();
  } catch (thrown) {
    error = thrown;
    checkError(error, expected, message, 'throws');
    return;
  }
  failWith(messageOf(expected, message), { expected, operator: 'throws' }, 'Missing expected exception.');
}

export function doesNotThrow(block: Block, expected?: Expected, message?: Message): void {
  try {
    block();
  } catch (error) {
    failWith(
      messageOf(expected, message),
      { actual: error, operator: 'doesNotThrow' },
      `Got unwanted exception.\n${String(error)}`,
    );
  }
}

export async function rejects(given: Promise<unknown> | Block, expected?: Expected, message?: Message): Promise<void> {
  const promise = typeof given === 'function' ? given() : given;
  try {
    await promise;
  } catch (error) {
    checkError(error, expected, message, 'rejects');
    return;
  }
  failWith(messageOf(expected, message), { expected, operator: 'rejects' }, 'Missing expected rejection.');
}

export async function doesNotReject(
  given: Promise<unknown> | Block,
  expected?: Expected,
  message?: Message,
): Promise<void> {
  try {
    await (typeof given === 'function' ? given() : given);
  } catch (error) {
    failWith(
      messageOf(expected, message),
      { actual: error, operator: 'doesNotReject' },
      `Got unwanted rejection.\n${String(error)}`,
    );
  }
}

const common = {
  AssertionError,
  deepStrictEqual,
  doesNotMatch,
  doesNotReject,
  doesNotThrow,
  fail,
  ifError,
  match,
  notDeepStrictEqual,
  notStrictEqual,
  ok,
  rejects,
  strictEqual,
  throws,
};

/** `assert.strict`: the loose names mean the strict comparisons. */
export const strict = /* @__PURE__ */ Object.assign((value: unknown, message?: Message) => ok(value, message), common, {
  deepEqual: deepStrictEqual,
  equal: strictEqual,
  notDeepEqual: notDeepStrictEqual,
  notEqual: notStrictEqual,
});
const assert = /* @__PURE__ */ Object.assign((value: unknown, message?: Message) => ok(value, message), common, {
  deepEqual,
  equal,
  notDeepEqual,
  notEqual,
  strict,
});
Object.assign(strict, { strict });

export default assert;
