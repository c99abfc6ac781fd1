// What a check found: the same words for `platform doctor` and for the operator's page of the dashboard. Pure.

/** What a check found. */
export interface Finding {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** What to do; null where all is well. */
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
