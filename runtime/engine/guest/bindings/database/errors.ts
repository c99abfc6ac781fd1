// Errors of the db binding, as D1 words them.

export function failure(prefix: string, code: string, message: string): Error {
  // The base code stands in the text, as in D1; the extended one is a field.
  const text = `${message}: ${/^SQLITE_[A-Z]+/.exec(code)?.[0] ?? code}`;
  const error = new Error(`${prefix}: ${text}`, { cause: new Error(text) });
  Object.defineProperty(error, 'code', { value: code, configurable: true, writable: true });
  return error;
}

export function typeError(value: unknown): Error {
  const text = `Type '${typeof value}' not supported for value '${String(value)}'`;
  return new Error(`D1_TYPE_ERROR: ${text}`, { cause: new Error(text) });
}
