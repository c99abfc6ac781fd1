// Errors of the management API: which codes of core/errors.ts it returns, and with which headers.
import { errorMessage, errorTable, type ErrorCode, type ErrorDetails } from '#core/errors.ts';
import { apiErrors } from '#core/errors/api.ts';
import { passedOn } from '#resources/refusals.ts';

/** Codes that the API shares with the engine. */
const shared = ['bad_request', 'method_not_allowed', 'conflict', 'internal'] as const satisfies readonly ErrorCode[];

type ApiErrorCode = keyof typeof apiErrors | (typeof shared)[number] | (typeof passedOn)[number];

/** Every code of the API. */
export const apiErrorCodes = [
  ...shared,
  ...(Object.keys(apiErrors) as (keyof typeof apiErrors)[]),
  ...passedOn,
] as const satisfies readonly ApiErrorCode[];

/** An error that is sent to clients. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  /** @param message by default, the message of the code, with its details. */
  constructor(
    code: ApiErrorCode,
    details: ErrorDetails = {},
    headers: Readonly<Record<string, string>> = {},
    message: string = errorMessage(code, details),
  ) {
    super(message);
    this.code = code;
    this.headers = headers;
  }

  /** An error of the engine or the sandbox service, with its own message. */
  static inWords(code: ApiErrorCode, message: string): ApiError {
    return new ApiError(code, {}, {}, message);
  }

  get status(): number {
    return errorTable[this.code].status;
  }
}
