// The registry of errors: code -> HTTP status, blame, message. Every expected failure has a row in a file of errors/,
// sorted by the interface that returns it. Status, log level and visibility follow from the row.
import { apiErrors } from './errors/api.ts';
import { buildErrors } from './errors/build.ts';
import { engineErrors } from './errors/engine.ts';
import { gatewayErrors } from './errors/gateway.ts';
import { platformErrors } from './errors/platform.ts';
import type { ErrorRow } from './errors/row.ts';
import { sandboxErrors } from './errors/sandbox.ts';

/** Every error code with its HTTP status, blame and message. Each code has one row. */
export const errorTable = {
  ...engineErrors,
  ...sandboxErrors,
  ...platformErrors,
  ...apiErrors,
  ...gatewayErrors,
  ...buildErrors,
} as const satisfies Record<string, ErrorRow>;

/** A code of {@link errorTable}. */
export type ErrorCode = keyof typeof errorTable;

/** Values for the placeholders of a message, and additional fields (never secrets). */
export type ErrorDetails = Readonly<Record<string, string | number | boolean>>;

/**
 * An error with a code of {@link errorTable}. Compare by `code`, never by `instanceof`: errors cross realms.
 *
 * @example
 * throw new PlatformError('host_not_found', { host: 'nobody.localhost' });
 */
export class PlatformError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(errorMessage(code, details), options);
    this.name = 'PlatformError';
    this.code = code;
    this.details = details;
  }

  /** The HTTP status a client gets. */
  get status(): number {
    return errorTable[this.code].status;
  }
}

/** The message of a code with its placeholders filled in; a placeholder without a value stays visible. */
export function errorMessage(code: ErrorCode, details: ErrorDetails = {}): string {
  return errorTable[code].message.replace(/\{(\w+)\}/g, (all, key: string) =>
    key in details ? String(details[key]) : all,
  );
}

/** Whether a value, which may come from another realm, is a known error code. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(errorTable, value);
}
