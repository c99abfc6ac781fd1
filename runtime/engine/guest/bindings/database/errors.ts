// Errors of the db binding, with D1's wording.

export function failure(prefix: string, code: string, message: string): Error {
  // As in D1, the base code is part of the text; the extended code is a field.
  const text = `${message}: ${/^SQLITE_[A-Z]+/.exec(code)?.[0] ?? code}`;
  const error = new Error(`${prefix}: ${text}`, { cause: new Error(text) });
  Object.defineProperty(error, 'code', { value: code, configurable: true, writable: true });
  return error;
}

export function typeError(value: unknown): Error {
  const text = `Type '${typeof value}' not supported for value '${String(value)}'`;
  return new Error(`D1_TYPE_ERROR: ${text}`, { cause: new Error(text) });
}
