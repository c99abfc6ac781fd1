// The result of a check, shared by `platform doctor` and the operator's dashboard page. Pure.

/** The result of a check. */
export interface Finding {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** Instructions to fix the problem; null if there is none. */
  readonly advice: string | null;
}

export const ok = (name: string, message: string): Finding => ({ name, status: 'ok', message, advice: null });
export const warn = (name: string, message: string, advice: string): Finding => ({
  name,
  status: 'warn',
  message,
  advice,
});
export const fail = (name: string, message: string, advice: string): Finding => ({
  name,
  status: 'fail',
  message,
  advice,
});
